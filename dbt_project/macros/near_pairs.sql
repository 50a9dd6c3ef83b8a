{# Live pairs of one namespace found through the vector index; unit tests override it. -#}
{% macro near_pairs() %}
kos.near_pairs(null::uuid[], {{ var('gate_distance') }}::double precision, {{ var('neighbours') }}::integer)
{%- endmacro %}
