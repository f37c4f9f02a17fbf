// SPDX-License-Identifier: Apache-2.0
// One session: what it is, and tabs on the sandbox that the agent uses.
import { useEffect, useState } from 'preact/hooks'
import { server, type LoggedEvent, type Session } from './connection.js'
import { Files } from './files.js'
import { Button, Empty, Pill, say, Tabs, useClock } from './parts.js'
import { Python } from './python.js'
import { actions, removeSoon } from './sessions.js'
import { Terminals } from './terminals.js'
import { age, bytes, clock, duration, left, problem, short, visible } from './words.js'

const eventsKept = 2000
const groups = {
  all: () => true,
  commands: (kind: string) => /^(command|python|terminal)\./.test(kind),
  network: (kind: string) => kind.startsWith('network.'),
  session: (kind: string) => !kind.includes('.'),
}
type Group = keyof typeof groups

function Events({ events, show }: { events: LoggedEvent[]; show: (command: string) => void }) {
  const [group, setGroup] = useState<Group>('all')
  // A command that has ended says more than its begin.
  const ended = new Set(events.filter((one) => one.kind.endsWith('.ended')).map((one) => `${one.kind.split('.')[0]}${one.run}`))
  const shown = events.filter((one) => groups[group](one.kind) && !(one.kind.endsWith('.started') && ended.has(`${one.kind.split('.')[0]}${one.run}`)))
  return (
    <div class="events">
      <div class="switch" role="group" aria-label="Which events">
        {(Object.keys(groups) as Group[]).map((name) => (
          <button key={name} type="button" aria-pressed={name === group} onClick={() => setGroup(name)}>{name}</button>
        ))}
      </div>
      {shown.length === 0 && <Empty title="Nothing has happened yet">Commands, code and decisions on the network show here as they happen.</Empty>}
      <ol>
        {[...shown].reverse().map((one) => {
          const failed = one.exitCode !== undefined && one.exitCode !== 0
          const isCommand = one.kind.startsWith('command.')
          return (
            <li key={one.seq} class={failed || one.kind === 'network.refused' ? 'bad' : one.kind.endsWith('.started') ? 'live' : ''}>
              <time dateTime={one.time}>{clock(one.time)}</time>
              <span class="kind">{one.kind.replace('.', ' ')}</span>
              {isCommand
                ? <button type="button" class="link" title="Open in a terminal" onClick={() => show(one.text)}><code>{visible(one.text)}</code></button>
                : <code>{visible(one.text)}</code>}
              <span class="soft">{[
                one.exitCode !== undefined && `exit ${one.exitCode}`,
                one.durationMs !== undefined && duration(one.durationMs),
                one.reason && visible(one.reason),
              ].filter(Boolean).join(' · ')}</span>
            </li>
          )
        })}
      </ol>
    </div>
  )
}

function Connect({ session, wantsToken }: { session: Session; wantsToken: boolean }) {
  const id = session.sessionId
  const ifWanted = (text: string) => (wantsToken ? text : '')
  const lines: [string, string][] = [
    ['curl', `curl ${ifWanted('-H "Authorization: Bearer $TOKEN" ')}-H 'Content-Type: application/json' \\\n  -d '{"command":"echo hello"}' ${location.origin}/sessions/${id}/commands`],
    ['Python', `from cloche import Sandbox\n\nsbx = Sandbox(url="${location.origin}"${ifWanted(', token=TOKEN')}, session_id="${id}")\nprint(sbx.commands.run("echo hello").stdout)`],
    ['TypeScript', `import { Sandbox } from 'cloche'\n\nconst sbx = await Sandbox.create({ url: '${location.origin}'${ifWanted(', token')}, sessionId: '${id}' })\nconsole.log((await sbx.commands.run('echo hello')).stdout)`],
    ['JSON-RPC', `# WebSocket ${location.origin.replace('http', 'ws')}/rpc, subprotocol cloche.rpc.v1\n{"jsonrpc":"2.0","id":1,"method":"create","params":{"sessionId":"${id}"}}\n{"jsonrpc":"2.0","id":2,"method":"run","params":{"command":"echo hello"}}`],
  ]
  return (
    <div class="connect">
      {lines.map(([name, text]) => (
        <section key={name}>
          <header>
            <h3>{name}</h3>
            <Button icon="copy" kind="quiet" onClick={() => void navigator.clipboard.writeText(text).then(() => say({ text: 'Copied' }))}>Copy</Button>
          </header>
          <pre tabIndex={0}>{text}</pre>
        </section>
      ))}
    </div>
  )
}

const tabs = { terminals: 'Terminals', files: 'Files', python: 'Python', events: 'Events', connect: 'Connect' }
type Tab = keyof typeof tabs

export function SessionView({ id, tab, session, loaded, wantsToken, refresh }: { id: string; tab: string; session: Session | undefined; loaded: boolean; wantsToken: boolean; refresh: () => void }) {
  useClock()
  const [events, setEvents] = useState<LoggedEvent[]>([])
  const [command, setCommand] = useState<string>()
  const chosen: Tab = tab in tabs ? (tab as Tab) : 'terminals'
  const choose = (next: Tab) => { location.hash = `#/session/${id}/${next}` }
  useEffect(() => {
    setEvents([])
    const subscribe = () => {
      setEvents([])
      server.call('events.subscribe', { sessionId: id }).catch(() => undefined)
    }
    if (server.state === 'open') subscribe()
    const stops = [
      server.watch((state) => { if (state === 'open') subscribe() }),
      server.on<LoggedEvent>('event', (event) => {
        if (event.sessionId === id) setEvents((now) => [...now.slice(-eventsKept), event])
      }),
    ]
    return () => { for (const stop of stops) stop() }
  }, [id])
  if (!session) {
    return <section class="page">{loaded
      ? <Empty title="This session is gone">It was deleted, or its time was over. <a href="#/">All sessions</a></Empty>
      : <div class="empty" aria-busy="true" />}</section>
  }
  const act = (work: Promise<unknown>) => void work.then(refresh, (error: unknown) => say({ text: problem(error) }))
  const facts: [string, string][] = [
    ['Age', age(session.createdAt)], ['Left', left(session.expiresAt)], ['Memory', bytes(session.memoryBytes)],
    ['CPU', duration(session.cpuMs)], ['Files', bytes(session.fileBytes)], ['Processes', String(session.processes)],
  ]
  return (
    <section class="page session">
      <header class="bar">
        <a class="button bare quiet" href="#/" aria-label="All sessions"><svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d="M10 3 5 8l5 5" /></svg></a>
        <h1><code title={id}>{short(id)}</code> <Pill status={session.status} /></h1>
        {session.parent && <a class="soft" href={`#/session/${session.parent}`}>fork of {short(session.parent)}</a>}
        <span class="space" />
        <Button icon="fork" onClick={() => act(actions.fork(id).then((twin) => { location.hash = `#/session/${twin}` }))}>Fork</Button>
        {session.status === 'paused'
          ? <Button icon="play" onClick={() => act(actions.resume(id))}>Resume</Button>
          : <Button icon="pause" onClick={() => act(actions.pause(id))}>Pause</Button>}
        <Button icon="trash" kind="danger" onClick={() => { removeSoon(id, refresh); location.hash = '#/' }}>Delete</Button>
      </header>
      <dl class="facts">{facts.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>
      <Tabs tabs={tabs} chosen={chosen} choose={choose} label="Parts of the session" />
      <div class="panel" role="tabpanel" aria-labelledby={`tab-${chosen}`}>
        {session.status === 'paused' && chosen !== 'connect' && chosen !== 'events'
          ? <Empty title="This session is paused">Its files and its Python are kept. <button type="button" class="link" onClick={() => act(actions.resume(id))}>Resume it</button> to go on.</Empty>
          : chosen === 'terminals' ? <Terminals key={id} session={id} command={command} done={() => setCommand(undefined)} />
            : chosen === 'files' ? <Files key={id} session={id} />
              : chosen === 'python' ? <Python key={id} session={id} />
                : chosen === 'events' ? <Events events={events} show={(text) => { setCommand(text); choose('terminals') }} />
                  : <Connect session={session} wantsToken={wantsToken} />}
      </div>
    </section>
  )
}
