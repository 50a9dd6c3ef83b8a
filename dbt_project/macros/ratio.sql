{# A share between 0 and 1; 0 when there is nothing to share. -#}
{% macro ratio(part, whole) %}coalesce({{ part }}::double precision / nullif({{ whole }}, 0), 0){% endmacro %}
