# packages: jinja2 pyyaml
"""A YAML file to an HTML page by a template."""
import yaml
from jinja2 import DictLoader, Environment, StrictUndefined, UndefinedError

data = yaml.safe_load("""
title: Weekly <report>
people:
  - {name: Ann, hours: [8, 7.5, 8]}
  - {name: Bob, hours: []}
base: &base {unit: h}
more: {<<: *base, n: 0x10, when: 2024-01-31, text: "a: b", none: ~}
""")
environment = Environment(loader=DictLoader({
    "base": "<h1>{{ title }}</h1>\n{% block body %}{% endblock %}",
    "page": """{% extends "base" %}{% block body %}<ul>
{%- for p in people if p.hours %}
<li>{{ loop.index }} {{ p.name|upper }}: {{ p.hours|sum }} {{ more.unit }}{{ "" if loop.last else "," }}</li>
{%- else %}<li>nobody</li>{% endfor %}
</ul>{% endblock %}""",
}), autoescape=True, undefined=StrictUndefined)
print(environment.get_template("page").render(data))
print(data["more"])
print(yaml.safe_dump({"b": [1, {"c": None}], "a": "ž"}, allow_unicode=True, sort_keys=True), end="")
try:
    environment.from_string("{{ missing.x }}").render()
except UndefinedError as error:
    print("UndefinedError:", error)
try:
    yaml.safe_load("a: [1, 2")
except yaml.YAMLError as error:
    print(type(error).__name__, error.problem_mark.line)
