# packages: beautifulsoup4 lxml tabulate
"""A broken HTML page by Beautiful Soup, XML with namespaces and XPath by lxml, a table by tabulate."""
from bs4 import BeautifulSoup
from lxml import etree
from tabulate import tabulate

PAGE = """<html><body><div class="item hot" data-id=1><h2>Čaj</h2><span class=price>25 Kč</span></div>
<div class="item" data-id=2><h2>Káva<span class="price">45 Kč</div><p>end"""
rows = []
for parser in ("html.parser", "lxml"):
    soup = BeautifulSoup(PAGE, parser)
    rows += [(parser, item["data-id"], item.h2.get_text(strip=True)[:4], item.select_one(".price").text) for item in soup.select("div.item")]
print(tabulate(rows, headers=["parser", "id", "name", "price"], tablefmt="github"))
root = etree.fromstring(b"<r xmlns:k='urn:k'><k:a n='1'>x</k:a><k:a n='2'/><b>t</b></r>")
print(root.xpath("//k:a[@n > 1]/@n", namespaces={"k": "urn:k"}), root.findtext("b"), root.xpath("count(//*)"))
style = etree.XSLT(etree.XML("""<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:template match="/"><out><xsl:value-of select="r/b"/></out></xsl:template></xsl:stylesheet>"""))
print(str(style(root)).strip().split("\n")[-1])
try:
    etree.fromstring("<a><b></a>")
except etree.XMLSyntaxError as error:
    print("XMLSyntaxError:", str(error).split(",")[0])
