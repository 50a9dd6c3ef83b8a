{% test between(model, column_name, low, high=none) %}
select {{ column_name }}
from {{ model }}
where {{ column_name }} < {{ low }}{% if high is not none %} or {{ column_name }} > {{ high }}{% endif %}
{% endtest %}
