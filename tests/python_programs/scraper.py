"""Links, headings and a table out of an HTML file."""
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin, urlsplit

PAGE = """<!doctype html><html><head><title>Shop &amp; Co</title></head><body>
<h1>Catalogue</h1><ul><li><a href="/a?x=1&amp;y=2">First</a><li><a href='b/c.html#top'>Second</a><li><a href="https://example.org/z">Third</a></ul>
<table><tr><th>Name<th>Price</tr><tr><td>Caf&eacute;<td>3,50 &euro;</tr><tr><td>Tea<td>2,00 &euro;</tr></table>
<script>var x = "<a href='no'>";</script></body></html>"""


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.links, self.rows, self.stack, self.title = [], [], [], ""

    def handle_starttag(self, tag, attrs):
        self.stack.append(tag)
        if tag == "a":
            self.links.append(dict(attrs).get("href"))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        while self.stack and self.stack.pop() != tag:
            pass

    def handle_data(self, data):
        if "title" in self.stack:
            self.title += data
        elif self.stack and self.stack[-1] in ("td", "th"):
            self.rows[-1][-1] += data.strip()


Path("page.html").write_text(PAGE, encoding="utf-8")
page = Page()
page.feed(Path("page.html").read_text(encoding="utf-8"))
print(page.title)
for link in page.links:
    full = urljoin("http://shop.example/dir/index.html", link)
    print(full, urlsplit(full).netloc, urlsplit(full).query or "-")
for row in page.rows:
    print(" | ".join(row))
