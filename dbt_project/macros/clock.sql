{# The instant that every model measures against; unit tests override it. -#}
{% macro as_of() %}now(){% endmacro %}
