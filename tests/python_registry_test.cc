// SPDX-License-Identifier: Apache-2.0
// The packages of the registry that are pure Python do what people begin with.
#include <gmock/gmock.h>

#include "sandbox_testing.h"

namespace cloche::testing {
namespace {

// Prints a line for each package, or what went wrong.
constexpr const char* program = R"py(
import traceback

def databases():
    from sqlalchemy import create_engine, select
    from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, Session
    class Base(DeclarativeBase): pass
    class User(Base):
        __tablename__ = 'users'
        id: Mapped[int] = mapped_column(primary_key=True)
        name: Mapped[str]
    engine = create_engine('sqlite://')
    Base.metadata.create_all(engine)
    with Session(engine) as session:
        session.add(User(name='bo'))
        session.commit()
        return session.scalars(select(User.name)).all()

def tables():
    import io
    from rich.console import Console
    from rich.table import Table
    console, table = Console(file=io.StringIO(), width=40), Table('head')
    table.add_row('[bold]cell[/]')
    console.print(table)
    return 'cell' in console.file.getvalue()

def command_lines():
    import click
    from click.testing import CliRunner
    @click.command()
    @click.option('--n', default=1)
    def command(n): click.echo(n + 1)
    return CliRunner().invoke(command, ['--n', '3']).output.strip()

def charts():
    import plotly.express as px
    return px.bar(x=['a', 'b'], y=[3, 4]).to_dict()['data'][0]['type']

def more_charts():
    import altair as alt, pandas as pd
    return alt.Chart(pd.DataFrame({'a': [1], 'b': [2]})).mark_bar().encode(x='a', y='b').to_dict()['mark']['type']

def maps():
    import folium
    return 'leaflet' in folium.Map(location=[1, 2]).get_root().render()

def word():
    import docx
    document = docx.Document()
    document.add_heading('title')
    document.save('/tmp/a.docx')
    return docx.Document('/tmp/a.docx').paragraphs[0].text

def powerpoint():
    import pptx
    slides = pptx.Presentation()
    slides.slides.add_slide(slides.slide_layouts[0]).shapes.title.text = 'title'
    slides.save('/tmp/a.pptx')
    return pptx.Presentation('/tmp/a.pptx').slides[0].shapes.title.text

def time_zones():
    import datetime, pytz
    return pytz.timezone('Europe/Paris').localize(datetime.datetime(2024, 7, 1)).isoformat()

def dates():
    import arrow
    return arrow.get('2024-01-31').shift(months=1).format('YYYY-MM-DD')

def checks():
    import jsonschema
    try:
        jsonschema.validate({'a': 'x'}, {'properties': {'a': {'type': 'integer'}}})
    except jsonschema.ValidationError as error:
        return error.message

def web():
    import flask
    application = flask.Flask('x')
    @application.get('/')
    def index(): return {'a': 1}
    return application.test_client().get('/').json

def asynchronous_web():
    import asyncio, httpx
    from starlette.applications import Starlette
    from starlette.responses import JSONResponse
    from starlette.routing import Route
    async def handler(request): return JSONResponse({'path': request.url.path})
    async def ask():
        transport = httpx.ASGITransport(Starlette(routes=[Route('/here', handler)]))
        async with httpx.AsyncClient(transport=transport, base_url='http://a') as client:
            return (await client.get('/here')).json()
    return asyncio.run(ask())

def http():
    import httpx
    transport = httpx.MockTransport(lambda request: httpx.Response(200, json={'x': 1}))
    return httpx.Client(transport=transport).get('http://a/').json()

def invented():
    from faker import Faker
    Faker.seed(1)
    return len(Faker().name().split()) > 1

def language():
    from nltk.stem import PorterStemmer
    from nltk.tokenize import wordpunct_tokenize
    return PorterStemmer().stem('running'), wordpunct_tokenize('a b.')

def pages():
    import markdown, markdownify
    return markdownify.markdownify(markdown.markdown('# a'), heading_style='ATX').strip()

def tokens():
    import jwt
    return jwt.decode(jwt.encode({'a': 1}, 'k' * 32, algorithm='HS256'), 'k' * 32, algorithms=['HS256'])

def retries():
    import tenacity
    tries = []
    @tenacity.retry(stop=tenacity.stop_after_attempt(3), wait=tenacity.wait_none())
    def fails_twice():
        tries.append(1)
        if len(tries) < 3: raise ValueError
        return len(tries)
    return fails_twice()

def settings():
    import dotenv
    with open('/tmp/.env', 'w') as file: file.write('A=b\n')
    return dict(dotenv.dotenv_values('/tmp/.env'))

def parsers():
    from lark import Lark
    return str(Lark('start: "a"+').parse('aa').data)

def properties():
    from hypothesis import HealthCheck, given, settings, strategies
    seen = []
    @settings(deadline=None, suppress_health_check=list(HealthCheck))
    @given(strategies.integers())
    def check(n): seen.append(n)
    check()
    return len(seen) > 10

def data():
    import cachetools, chardet, humanize, marshmallow, simplejson, sortedcontainers
    cache = cachetools.LRUCache(1)
    cache['a'] = 1
    cache['b'] = 2
    class Person(marshmallow.Schema): age = marshmallow.fields.Integer()
    return (list(cache), chardet.detect('\ufeffä'.encode('utf-16'))['encoding'], humanize.naturalsize(10**6),
            Person().load({'age': '3'}), simplejson.dumps([1]), list(sortedcontainers.SortedList([2, 1])))

def simulations():
    import simpy
    environment, ends = simpy.Environment(), []
    def process():
        yield environment.timeout(5)
        ends.append(environment.now)
    environment.process(process())
    environment.run()
    return ends

def texts():
    import io, colorama, termcolor
    from loguru import logger
    from prettytable import PrettyTable
    out = io.StringIO()
    logger.remove()
    logger.add(out, format='{message}')
    logger.info('logged')
    table = PrettyTable(['a'])
    table.add_row([1])
    return out.getvalue().strip(), '| 1 |' in str(table), termcolor.colored('x', 'red', force_color=True), colorama.Fore.RED

for name, function in list(globals().items()):
    if callable(function) and not name.startswith('_'):
        try:
            print(f'{name}: {function()!r}')
        except Exception as error:
            print(f'{name}: {error!r} {traceback.extract_tb(error.__traceback__)[-1]}')
)py";

constexpr const char* printed = R"(databases: ['bo']
tables: True
command_lines: '4'
charts: 'bar'
more_charts: 'bar'
maps: True
word: 'title'
powerpoint: 'title'
time_zones: '2024-07-01T00:00:00+02:00'
dates: '2024-02-29'
checks: "'x' is not of type 'integer'"
web: {'a': 1}
asynchronous_web: {'path': '/here'}
http: {'x': 1}
invented: True
language: ('run', ['a', 'b', '.'])
pages: '# a'
tokens: {'a': 1}
retries: 3
settings: {'A': 'b'}
parsers: 'start'
properties: True
data: (['b'], 'UTF-16', '1.0 MB', {'age': 3}, '[1]', [1, 2])
simulations: [5]
texts: ('logged', True, '\x1b[31mx\x1b[0m', '\x1b[31m')
)";

TEST(PackagesOfTheRegistry, DoWhatPeopleBeginWith) {
  const auto sandbox = make_sandbox({.timeout = std::chrono::minutes(5)});
  const RunResult installed = sandbox->run(
      {.script =
           "pip install -q altair arrow cachetools chardet click colorama faker flask folium "
           "httpx humanize hypothesis jsonschema lark loguru markdown markdownify marshmallow "
           "aiohttp nltk pandas plotly prettytable pydantic pydantic-settings pyjwt python-docx "
           "python-dotenv python-pptx pytz rich "
           "simplejson simpy sortedcontainers sqlalchemy starlette tenacity termcolor && pip "
           "check"});
  EXPECT_EQ(installed.exit_code, 0) << installed.stdout_data << installed.stderr_data;
  const RunResult result =
      sandbox->run({.script = "python3 -W error::SyntaxWarning -", .stdin_data = program});
  EXPECT_EQ(result.stdout_data, printed);
  EXPECT_EQ(result.stderr_data, "");
}

}  // namespace
}  // namespace cloche::testing
