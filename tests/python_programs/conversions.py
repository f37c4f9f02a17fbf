"""JSON, TOML, INI, XML, base64, struct and pickle, there and back."""
import base64
import configparser
import io
import json
import pickle
import struct
import tomllib
import xml.etree.ElementTree as ET
from datetime import date, datetime, timezone

config = tomllib.loads("""
title = "demo"
[owner]
name = "Jana"
dob = 1979-05-27T07:32:00Z
[[item]]
sku = 1
tags = ["a", "b"]
[[item]]
sku = 2
price = 1.5e3
""")


def plain(value):
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    raise TypeError(type(value))


text = json.dumps(config, default=plain, indent=2, sort_keys=True)
print(text)
assert json.loads(text)["item"][1]["price"] == 1500

ini = configparser.ConfigParser()
ini.read_string("[db]\nhost = localhost\nport: 5432\n[paths]\nroot = /srv\ndata = %(root)s/data\n")
print(ini["paths"]["data"], ini.getint("db", "port"), ini.sections())

root = ET.Element("config", version="1")
for item in config["item"]:
    node = ET.SubElement(root, "item", sku=str(item["sku"]))
    node.text = "čaj & <káva>"
ET.indent(root)
print(ET.tostring(root, encoding="unicode"))
print([node.get("sku") for node in ET.fromstring(ET.tostring(root)).iterfind("item")])
print(base64.b64encode("ěšč".encode()).decode(), base64.urlsafe_b64decode("_-8=").hex())
print(struct.pack(">IhB", 70000, -2, 7).hex(), struct.unpack("<d", struct.pack("<d", 1.1)))
print(pickle.loads(pickle.dumps({"when": datetime(2024, 1, 1, tzinfo=timezone.utc), "set": {1, 2}})))
print(json.loads('{"big": 123456789012345678901234567890, "nan": NaN, "esc": "\\u017e\\n"}'))
