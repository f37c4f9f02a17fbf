// SPDX-License-Identifier: Apache-2.0
// The console: who has logged in sees sessions, and the server.
import { render } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { server, type ServerFigures, type Session } from './connection.js'
import { Line, Notices, useConnection } from './parts.js'
import { SessionView } from './session.js'
import { Sessions } from './sessions.js'
import { bytes, span } from './words.js'

const historyLength = 15 * 60

const Mark = () => (
  <svg class="logo" viewBox="0 0 24 24" aria-hidden="true"><path d="M12 3.5V6M5 18v-5a7 7 0 0 1 14 0v5M3 18h18" /></svg>
)

function Login({ done }: { done: () => void }) {
  const [token, setToken] = useState('')
  const [error, setError] = useState('')
  const [busy, setBusy] = useState(false)
  const submit = async (event: Event) => {
    event.preventDefault()
    setBusy(true)
    setError('')
    try {
      const answer = await fetch('/console/login', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ token }) })
      if (answer.ok) return done()
      setError(answer.status === 401 ? 'This token is not known here.' : answer.status === 429 ? 'Too many tries: wait a minute.' : `The server answers with ${answer.status}.`)
    } catch {
      setError('The server cannot be reached.')
    }
    setBusy(false)
  }
  return (
    <main class="login">
      <form onSubmit={(event) => void submit(event)}>
        <Mark />
        <h1>Cloche</h1>
        <label for="token">Token</label>
        <input id="token" type="password" autocomplete="current-password" autofocus required value={token} aria-invalid={Boolean(error)}
          aria-describedby="login-error" onInput={(event) => setToken(event.currentTarget.value)} />
        <p id="login-error" class="trouble" role="alert" hidden={!error}>{error}</p>
        <button type="submit" class="button primary" disabled={busy}><span>Log in</span></button>
        <p class="soft">One that <code>cloche serve</code> was given by <code>--token</code> or <code>--tokens-file</code>.</p>
      </form>
    </main>
  )
}

function Server({ history }: { history: ServerFigures[] }) {
  const now = history[history.length - 1]
  if (!now) return <section class="page"><div class="empty" aria-busy="true" /></section>
  const cpu = history.slice(1).map((one, at) => {
    const before = history[at]!
    const ms = one.uptimeMs - before.uptimeMs
    return ms > 0 ? (100 * (one.cpuMs - before.cpuMs)) / ms : 0
  })
  const rate = history.map((one) => one.requestsPerSecond)
  return (
    <section class="page">
      <header class="bar"><h1>Server</h1><span class="soft">Cloche {now.version} · up {span(now.uptimeMs)} · {now.cpus} processors</span></header>
      <div class="lines">
        <Line label="Sessions" values={history.map((one) => one.sessions)} text={String(now.sessions)} />
        <Line label="Memory" values={history.map((one) => one.memoryBytes)} text={bytes(now.memoryBytes)} />
        <Line label="CPU" values={cpu} max={100} text={`${Math.round(cpu[cpu.length - 1] ?? 0)} %`} />
        <Line label="Requests" values={rate} text={`${Math.round(rate[rate.length - 1] ?? 0)} / s`} />
      </div>
      <p class="soft">The last 15 minutes, since this page was opened.</p>
    </section>
  )
}

function App({ canLogOut, loggedOut }: { canLogOut: boolean; loggedOut: () => void }) {
  const state = useConnection()
  const [route, setRoute] = useState(location.hash)
  const [sessions, setSessions] = useState<Session[]>()
  const [history, setHistory] = useState<ServerFigures[]>([])
  const asked = useRef(false)
  const refresh = () => {
    if (asked.current) return
    asked.current = true
    setTimeout(() => {
      asked.current = false
      server.call<{ sessions: Session[] }>('session.list', { limit: 1000 }).then((answer) => setSessions(answer.sessions), () => undefined)
    }, 30)
  }
  useEffect(() => {
    const follow = () => setRoute(location.hash)
    addEventListener('hashchange', follow)
    const stops = [
      server.watch((now) => {
        if (now === 'open') server.call('stats.subscribe', { intervalMs: 1000 }).catch(() => undefined)
      }),
      server.on<{ server: ServerFigures; sessions: Session[] }>('stats', (told) => {
        setSessions(told.sessions)
        setHistory((before) => [...before.slice(1 - historyLength), told.server])
      }),
    ]
    server.start()
    return () => {
      removeEventListener('hashchange', follow)
      for (const stop of stops) stop()
      server.stop()
    }
  }, [])
  // A login that is over looks like a server that is away: the server says which.
  useEffect(() => {
    if (state !== 'lost') return
    fetch('/console/login').then((answer) => answer.json() as Promise<{ loggedIn: boolean }>).then(({ loggedIn }) => { if (!loggedIn) loggedOut() }, () => undefined)
  }, [state])
  const [, kind, id, tab] = route.split('/')
  return (
    <>
      <a class="skip" href="#main">Skip to the content</a>
      <header class="top">
        <a class="brand" href="#/"><Mark />Cloche</a>
        <nav aria-label="Console">
          <a href="#/" aria-current={kind !== 'server' ? 'page' : undefined}>Sessions</a>
          <a href="#/server" aria-current={kind === 'server' ? 'page' : undefined}>Server</a>
        </nav>
        <span class="space" />
        <span class={`state ${state}`} role="status"><i aria-hidden="true" />{state === 'open' ? 'Connected' : state === 'lost' ? 'Reconnecting' : 'Connecting'}</span>
        {canLogOut && <button type="button" class="button quiet" onClick={() => void fetch('/console/logout', { method: 'POST' }).finally(loggedOut)}><span>Log out</span></button>}
      </header>
      <main id="main">
        {kind === 'server' ? <Server history={history} />
          : kind === 'session' && id ? <SessionView id={id} tab={tab ?? ''} session={sessions?.find((one) => one.sessionId === id)} loaded={sessions !== undefined} wantsToken={canLogOut} refresh={refresh} />
            : <Sessions sessions={sessions ?? []} loaded={sessions !== undefined} refresh={refresh} />}
      </main>
      <Notices />
    </>
  )
}

function Console() {
  const [login, setLogin] = useState<{ tokens: boolean; loggedIn: boolean }>()
  const look = () => void fetch('/console/login').then((answer) => answer.json() as Promise<{ tokens: boolean; loggedIn: boolean }>).then(setLogin, () => setTimeout(look, 2000))
  useEffect(look, [])
  if (!login) return null
  return login.loggedIn ? <App canLogOut={login.tokens} loggedOut={look} /> : <Login done={look} />
}

render(<Console />, document.getElementById('app')!)
