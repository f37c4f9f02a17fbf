"""Names, amounts, dates and addresses out of running text."""
import re
import unicodedata

TEXT = """Invoice #2024-0117 from Žofie Nováková <zofie@example.cz>, due 2024-03-15.
Total: EUR 1.234,50 (VAT 21%). Call +420 777 123 456 or visit https://example.cz/pay?id=117&lang=cs.
Second invoice #2024-0118 - total: EUR 99,00 - due 15.04.2024. Contact: "Bob O'Neil" <bob.o+test@sub.example.com>"""

print(re.findall(r"#(\d{4})-(\d{4})", TEXT))
print([m.group() for m in re.finditer(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", TEXT)])
print([float(a.replace(".", "").replace(",", ".")) for a in re.findall(r"EUR ([\d.]+,\d{2})", TEXT)])
print(re.sub(r"(\d{2})\.(\d{2})\.(\d{4})", r"\3-\2-\1", TEXT).count("2024-04-15"))
print(re.split(r"[;,.]\s+|\s-\s", TEXT.splitlines()[2])[:3])
match = re.search(r"""(?x) (?P<scheme>https?) :// (?P<host>[^/\s]+) (?P<path>/[^\s?]*)? (?:\?(?P<query>[^\s.]+))? """, TEXT)
print(match.groupdict(), match.span("host"))
print(re.findall(r"\b[^\W\d_]+(?=\s[^\W\d_]+á\b)", TEXT), re.fullmatch(r"(a|b)*?c", "ababc").group(1))
print(unicodedata.normalize("NFKD", "Žofie Nováková").encode("ascii", "ignore").decode())
print(re.sub(r"\w+", lambda m: m[0].capitalize() if len(m[0]) > 3 else m[0], "the quick brown fox", count=3))
try:
    re.compile(r"(unclosed")
except re.error as error:
    print(error, error.pos)
