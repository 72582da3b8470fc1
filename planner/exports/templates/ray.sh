{# Shell commands for this project's sort on a platform's own nodes. Arguments are shell text; 6379 is Ray's port. #}
{# The wheel is not on a package index yet: `make wheel` builds it. #}
{% macro install() -%}
python3 -m venv ~/sortplanner && ~/sortplanner/bin/pip install 'sortplanner[ray,objects,arrow] @ REPLACE_WHEEL_URL'
{%- endmacro %}
{# Starts Ray on the node `name`, whose disks are mounted at `directory`. Where the condition `is_head` holds it is the
   head; all others join the host that `head` expands to. With --block the lines wait until Ray ends, for platforms
   that end what a script started. #}
{% macro start(directory, head, is_head, name="$(hostname)", block="") -%}
export PLANNER_NODE_NAME="{{ name | safe }}"
export PLANNER_NODE_DIRECTORY={{ directory | safe }}
ulimit -S -n "$(ulimit -H -n)" || true
if {{ is_head | safe }}; then
  ~/sortplanner/bin/ray start --head --port=6379 --include-dashboard=false{{ block | safe }}
else
  until ~/sortplanner/bin/ray start --address="{{ head | safe }}:6379"{{ block | safe }}; do sleep 5; done
fi
{%- endmacro %}
{# Waits until all of the plan's nodes have joined, for ten minutes at most. #}
{% macro wait(order) -%}
for try in $(seq 120); do [ $(~/sortplanner/bin/python -c "import ray; ray.init('auto', log_to_driver=False); print(sum(node['Alive'] for node in ray.nodes()))" 2>/dev/null || echo 0) -ge {{ order.best.nodes }} ] && break; sleep 5; done
{%- endmacro %}
{# Sorts the request's input to its output, or placeholders for them, on the cluster at `address`. #}
{% macro sort(order, address, program="~/sortplanner/bin/planner") -%}
{{ program | safe }} sort --ray {{ address | safe }} {{ order.input or "REPLACE_INPUT" }} sorted.json
{%- if order.format == "lines" %} --lines
{%- elif order.format in ("csv", "parquet") %} --format {{ order.format }} --key REPLACE_KEY
{%- endif %}
{% if order.output is not none or order.to_store %} --to {{ order.output or "REPLACE_OUTPUT" }}
{%- elif order.copies > 1 %} --copies {{ order.copies }}
{%- endif %}
{% endmacro %}
