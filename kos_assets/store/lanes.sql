-- The state of each inference provider (E5).

-- name: paused
select reason from kos.lanes
where provider = %(provider)s and state = 'paused' and paused_until > now();

-- name: pause
insert into kos.lanes (provider, state, paused_until, reason, failures)
values (%(provider)s, 'paused', now() + make_interval(secs => coalesce(%(seconds)s, %(first_s)s)), %(reason)s, 1)
on conflict (provider) do update set
    state = 'paused', reason = excluded.reason, failures = kos.lanes.failures + 1, updated_at = now(),
    paused_until = now() + make_interval(
        secs => coalesce(%(seconds)s, least(%(first_s)s * power(2, least(kos.lanes.failures, 20)), %(longest_s)s))
    );

-- name: reopen
update kos.lanes set state = 'open', paused_until = null, reason = null, failures = 0, updated_at = now()
where provider = %(provider)s and state = 'paused';

-- name: all
select provider, state, paused_until, reason, failures from kos.lanes order by provider;
