-- Thresholds of confidence.

-- name: record
insert into kos.calibrations (model_id, rule, weak, strong, corpus_memories, inputs_hash, report)
select %(model_id)s, %(rule)s, %(weak)s, %(strong)s, count(*), %(inputs_hash)s, %(report)s from kos.live_memories;

-- name: known_items
select m.heading, m.content
from kos.live_memories as m
where
    char_length(m.content) between 200 and 20000 and char_length(m.heading) between 12 and 120
    and m.event_rule <> 'filename'
order by md5(m.memory_id::text) limit %(limit)s;
