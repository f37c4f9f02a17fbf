"""locales.py EXTRA TO: FormatJS's classes of Intl as modules of CommonJS, and CLDR's data of each locale, into the folder TO.

Its packages have each locale as a program that adds it, with the data in it twice. Here it is JSON: KIND/LOCALE.json, of a locale that
goes on from another one (en-GB from en-001) only what is its own: {"from": "en-001", "own": {...}}. Intervals of dates with times, most of
the data of dates and seldom wanted, are left out: they are written as two whole ones. Rules of plurals are functions: plurals/LOCALE.js.
"""
import json
import pathlib
import re
import sys

# Those that CLDR has whole, and what is written by millions.
LANGUAGES = """af am ar as az be bg bn br bs ca cs cy da de el en es et eu fa fi fil fo fr fy ga gd gl gu ha he hi hr hu hy id ig is it
ja ka kk km kn ko ky lb lo lt lv mi mk ml mn mr ms mt my nb ne nl nn no or pa pl ps pt rm ro ru sd si sk sl so sq sr sv sw ta te tg th tk tr
tt ug uk ur uz vi wo xh yo yue zh zu""".split()
KINDS = {"numberformat": "numbers", "datetimeformat": "dates", "relativetimeformat": "relative", "listformat": "lists", "displaynames": "names"}
MODULES = ["bigdecimal", "fast-memoize", "intl-localematcher", "intl-getcanonicallocales", "intl-supportedvaluesof", "intl-locale", "intl-pluralrules",
           *(f"intl-{kind}" for kind in KINDS)]


def as_common_js(text):
    """Each file is one module, with its imports at the beginning of a line and one export at the end."""
    def take(found):
        names, module = found.groups()
        usual, _, rest = names.partition("{")
        told = f"require('./{module.removeprefix('@formatjs/')}.js')"
        parts = [f"const {usual.strip(' ,')} = {told}.default;"] if usual.strip(" ,") else []
        if rest:
            parts.append(f"const {{{rest.replace(' as ', ': ')} = {told};")
        return " ".join(parts)

    def give(found):
        pairs = [one.split(" as ") for one in found[1].split(",")]
        return "".join(f"exports.{pair[-1].strip()} = {pair[0].strip()};\n" for pair in pairs)

    text = re.sub(r'^import (.+) from "(@formatjs/[\w-]+)";$', take, text, flags=re.M)
    text = re.sub(r"^export \{(.+)\};$", give, text, flags=re.M)
    if re.search(r"^(?:import|export)\b", text, re.M):
        sys.exit("locales.py: an import or export that is not known")
    return text


def replaced(text, old, new):
    if text.count(old) != 1:
        sys.exit(f"locales.py: {old} is there {text.count(old)} times")
    return text.replace(old, new)


def data_of(text):
    """None of a locale that has nothing of its own."""
    whole = re.search(r"JSON\.parse\(\s*(?=\")", text)
    told = (json.loads(json.JSONDecoder().raw_decode(text, whole.end())[0]) if whole
            else json.JSONDecoder().raw_decode(text, re.search(r"__addLocaleData\(\s*(?=\{)", text).end())[0]).get("data")
    if told and "intervalFormats" in told:
        told["intervalFormats"] = {skeleton: value for skeleton, value in told["intervalFormats"].items() if ", " not in skeleton}
    return told


def locale_files(extra, package):
    return [path for path in sorted((extra / f"intl-{package}" / "locale-data").glob("*.js")) if path.stem.split("-")[0] in LANGUAGES]


def object_after(text, words):
    return json.JSONDecoder().raw_decode(text, text.index(words) + len(words))[0]


def own(data, base):
    """What `data` has otherwise than `base`: None is what it has not."""
    if not isinstance(data, dict) or not isinstance(base, dict):
        return data
    changed = {name: own(value, base[name]) if name in base else value for name, value in data.items() if name not in base or base[name] != value}
    return changed | {name: None for name in base if name not in data}


TIMES = re.compile("[aBbhHKkjmsSvzZ]")


def put_between(formats, joined):
    """Between dates with a month in letters and times, which are there without a word."""
    dates = [skeleton for skeleton in formats if not TIMES.search(skeleton) and re.search("MMMM|LLLL", formats[skeleton])]
    times = [skeleton for skeleton in formats if TIMES.match(skeleton) and not re.search("[GyMLdEce]", skeleton)]
    for date in dates:
        for time in times:
            if f"{date}, {time}" in formats:
                formats[f"{date}, {time}"] = joined.replace("{1}", formats[date]).replace("{0}", formats[time])


def with_more(locale, data, cldr, links):
    """What FormatJS leaves out of the dates, and ICU does not: the word between a whole date and its time ("at"), a zone without a time,
    and the names of zones that are called otherwise today. Before AM and PM is a usual space, as V8 has it."""
    data = json.loads(json.dumps(data, ensure_ascii=False).replace("\u202f", " "))
    path = cldr / "main" / locale / "ca-gregorian.json"
    if path.exists():
        joined = json.loads(path.read_text())["main"][locale]["dates"]["calendars"]["gregorian"]["dateTimeFormats-atTime"]["standard"]
        data["dateTimeFormat"] |= {style: joined[style] for style in ("full", "long")}
        put_between(data["formats"]["gregory"], joined["long"])
    for old, new in links.items():
        if old in data["timeZoneName"]:
            data["timeZoneName"].setdefault(new, data["timeZoneName"][old])
    formats = data["formats"]["gregory"]
    zoned = {f"{skeleton}z": data["dateTimeFormat"]["medium"].replace("{1}", pattern).replace("{0}", "z")
             for skeleton, pattern in formats.items() if not TIMES.search(skeleton)}
    data["formats"]["gregory"] = zoned | formats
    return data


def write_kind(kind, all_data, to):
    """From the one of its language that it is most like, of those that stand for many."""
    (to / kind).mkdir(exist_ok=True)
    for locale, data in all_data.items():
        language, *rest = locale.split("-")
        script = f"{language}-{rest[0]}" if rest and len(rest[0]) == 4 else language
        bases = [base for base in (language, script, f"{language}-001", f"{language}-150", f"{language}-419") if base in all_data]
        texts = [json.dumps(data, ensure_ascii=False, separators=(",", ":"))]
        for base in bases[:bases.index(locale)] if locale in bases else bases:
            texts.append(json.dumps({"from": base, "own": own(data, all_data[base])}, ensure_ascii=False, separators=(",", ":")))
        (to / kind / f"{locale}.json").write_text(min(texts, key=len))


def main():
    extra, to = map(pathlib.Path, sys.argv[1:])
    to.mkdir(parents=True, exist_ok=True)
    for name in MODULES:
        text = as_common_js((extra / name / "index.js").read_text())
        if name == "intl-datetimeformat":  # a zone is asked what it is at that time
            text = replaced(text, "const zoneData = tzData[timeZone];", "const zoneData = tzData[timeZone]?.(t);")
        if name == "intl-getcanonicallocales":  # which Intl.Locale wants before there is one
            text = replaced(text, 'const originalLocaleToString = typeof Intl !== "undefined" ? Intl.Locale?.prototype.toString : void 0;',
                            "const originalLocaleToString = void 0;")
        (to / f"{name}.js").write_text(text)
    (to / "LICENSE").write_text((extra / "intl-numberformat" / "LICENSE.md").read_text() + "\n" + (extra / "cldr-dates" / "LICENSE").read_text())
    locales = {}
    for package, kind in KINDS.items():
        read = {path.stem: data_of(path.read_text()) for path in locale_files(extra, package)}
        all_data = {locale: data for locale, data in read.items() if data}
        if kind == "dates":
            links = object_after((extra / "intl-datetimeformat" / "index.js").read_text(), "var links_default = ")
            all_data = {locale: with_more(locale, data, extra / "cldr-dates", links) for locale, data in all_data.items()}
        write_kind(kind, all_data, to)
        locales[kind] = list(all_data)
    (to / "plurals").mkdir(exist_ok=True)
    plurals = locale_files(extra, "pluralrules")
    locales["plurals"] = [path.stem for path in plurals]
    for path in plurals:
        (to / "plurals" / path.name).write_text(path.read_text().partition("\n} else {\n")[0] + "\n}\n")
    # Names that say no more than another one: de-DE is de, zh-TW is zh-Hant.
    usual = (extra / "intl-numberformat" / "polyfill.iife.js").read_text()
    content = object_after(usual, "const defaultContent = ")
    short = {full: name for name, all_full in content.items() for full in all_full}
    likely = object_after((extra / "intl-getcanonicallocales" / "index.js").read_text(), "const likelySubtags = ")
    for name, full in likely.items():
        language, _, region = name.partition("-")
        if full.count("-") != 2:
            continue
        if region:
            short.setdefault(name, short.get(full, full))
        else:
            short.setdefault(f"{name}-{full.rpartition('-')[2]}", name)
    locales["usual"] = {full: name for full, name in short.items() if name in locales["numbers"] and full not in locales["numbers"]}
    (to / "locales.json").write_text(json.dumps(locales, separators=(",", ":")))


main()
