// SPDX-License-Identifier: Apache-2.0
// Terminals of a session. Their numbers are kept for the tab, so that a page that was loaded again,
// or a connection that came back, shows the same shells.
import { FitAddon } from '@xterm/addon-fit'
import { Terminal as Screen } from '@xterm/xterm'
import { useEffect, useRef, useState } from 'preact/hooks'
import { server } from './connection.js'
import { Button, Empty, Trouble } from './parts.js'

const scrollbackLines = 5000
// What the server sends ahead of what the screen has shown: more only makes Ctrl-C wait.
const windowBytes = 1 << 20
const toldBytes = windowBytes / 8
const titleLimit = 80

const colour = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim()
const theme = () => ({
  background: colour('--sunken'), foreground: colour('--text'), cursor: colour('--accent'),
  selectionBackground: colour('--selection'),
  ...(matchMedia('(prefers-color-scheme: dark)').matches
    ? { black: '#2b2e2a', blue: '#7aa9f7', brightBlue: '#a3c4ff', red: '#ff8a80', green: '#8fd694', yellow: '#f0c674', magenta: '#d7a1e8', cyan: '#6fd0bd' }
    : { white: '#57534c', brightWhite: '#1d1b18', yellow: '#7a5200', brightYellow: '#8f6200', green: '#2a6f2e', cyan: '#0b6b5d', brightGreen: '#2a6f2e', brightCyan: '#0b6b5d', brightBlack: '#66615a' }),
})

function Shell({ session, attach, command, opened, ended, titled }: {
  session: string
  attach: number | undefined
  command: string | undefined
  opened: (number: number) => void
  ended: () => void
  titled: (title: string) => void
}) {
  const place = useRef<HTMLDivElement>(null)
  const [error, setError] = useState<unknown>()
  useEffect(() => {
    const screen = new Screen({
      scrollback: scrollbackLines, fontSize: 13, lineHeight: 1.25, cursorBlink: true, theme: theme(), screenReaderMode: false,
      fontFamily: colour('--mono'), allowProposedApi: false,
      // Nothing is opened without a look at where it leads to.
      linkHandler: { activate: (_, text) => { if (/^https?:\/\//.test(text) && confirm(`Open ${text}?`)) open(text, '_blank', 'noopener,noreferrer') } },
    })
    const fit = new FitAddon()
    screen.loadAddon(fit)
    screen.open(place.current!)
    // A program in the sandbox neither reads nor writes the clipboard.
    screen.parser.registerOscHandler(52, () => true)
    fit.fit()
    screen.onTitleChange((title) => titled(title.slice(0, titleLimit)))
    screen.attachCustomKeyEventHandler((event) => {
      if (event.type !== 'keydown' || !event.ctrlKey || !event.shiftKey) return true
      if (event.code === 'KeyC' && screen.hasSelection()) void navigator.clipboard.writeText(screen.getSelection())
      return event.code !== 'KeyC' && event.code !== 'KeyV'
    })
    let number = attach
    let stop: () => void = () => undefined
    let gone = false
    let shown = 0
    const show = async (from: number | undefined) => {
      const size = { cols: screen.cols, rows: screen.rows, window: windowBytes }
      const answered = ({ terminal }: { terminal: number }) => {
        stop()
        number = terminal
        shown = 0
        stop = server.onTerminal(terminal, (data) => screen.write(data, () => {
          shown += data.length
          if (shown < toldBytes || gone) return
          server.call('terminal.taken', { terminal, bytes: shown }).catch(() => undefined)
          shown = 0
        }))
      }
      try {
        screen.reset()
        await server.in<{ terminal: number }>(session, 'terminal.open', from === undefined ? { ...size, command } : { ...size, attach: from }, { answered: answered as never })
        setError(undefined)
        opened(number!)
      } catch (caught) {
        if (from !== undefined && server.state === 'open' && !gone) return show(undefined)
        setError(caught)
      }
    }
    void show(number)
    const stops = [
      server.watch((state) => { if (state === 'open') void show(number) }),
      server.on<{ terminal: number; exitCode: number }>('terminal.exit', (params) => {
        if (params.terminal !== number) return
        screen.write(`\r\n\x1b[2m[ended with ${params.exitCode}]\x1b[0m\r\n`)
        stop()
        gone = true
        ended()
      }),
    ]
    screen.onData((text) => { if (number !== undefined && !gone) server.type(number, text) })
    screen.onResize(({ cols, rows }) => { if (number !== undefined && !gone) server.call('terminal.resize', { terminal: number, cols, rows }).catch(() => undefined) })
    const observer = new ResizeObserver(() => fit.fit())
    observer.observe(place.current!)
    const dark = matchMedia('(prefers-color-scheme: dark)')
    const recolour = () => { screen.options.theme = theme() }
    dark.addEventListener('change', recolour)
    screen.focus()
    return () => {
      observer.disconnect()
      dark.removeEventListener('change', recolour)
      for (const one of stops) one()
      stop()
      screen.dispose()
    }
  }, [])
  return <><Trouble error={error} /><div class="screen" ref={place} /></>
}

interface Open {
  key: number
  number?: number
  command?: string
  title?: string
  ended?: boolean
}

export function Terminals({ session, command, done }: { session: string; command: string | undefined; done: () => void }) {
  const place = `cloche.terminals.${session}`
  const [all, setAll] = useState<Open[]>(() => {
    try {
      const numbers = JSON.parse(sessionStorage.getItem(place) ?? '[]') as number[]
      return numbers.map((number, key) => ({ key, number }))
    } catch {
      return []
    }
  })
  const [chosen, choose] = useState(0)
  const last = useRef(100)
  const change = (key: number, more: Partial<Open>) => setAll((now) => now.map((one) => (one.key === key ? { ...one, ...more } : one)))
  const add = (text?: string) => {
    const key = ++last.current
    setAll((now) => [...now, text === undefined ? { key } : { key, command: text }])
    choose(key)
  }
  useEffect(() => {
    if (command === undefined) return
    add(command)
    done()
  }, [command])
  useEffect(() => {
    if (command !== undefined) return
    if (all.length === 0) add()
    else choose(all[0]!.key)
  }, [])
  useEffect(() => sessionStorage.setItem(place, JSON.stringify(all.filter((one) => !one.ended && one.number !== undefined).map((one) => one.number))), [all])
  const close = (one: Open) => {
    if (one.number !== undefined && !one.ended) server.call('terminal.close', { terminal: one.number }).catch(() => undefined)
    const rest = all.filter((other) => other.key !== one.key)
    setAll(rest)
    if (chosen === one.key && rest.length) choose(rest[rest.length - 1]!.key)
  }
  return (
    <div class="terminals">
      <div class="chips">
        {all.map((one, index) => (
          <span key={one.key} class={`chip ${one.key === chosen ? 'chosen' : ''}`}>
            <button type="button" aria-pressed={one.key === chosen} onClick={() => choose(one.key)}>{one.title || `Terminal ${index + 1}`}</button>
            <Button icon="close" label="Close terminal" kind="quiet" onClick={() => close(one)} />
          </span>
        ))}
        <Button icon="add" label="New terminal" kind="quiet" onClick={() => add()} />
      </div>
      {all.length === 0 && <Empty title="No terminal is open">Press + for a shell in this sandbox.</Empty>}
      {all.map((one) => one.key === chosen && (
        <Shell key={one.key} session={session} attach={one.number} command={one.number === undefined ? one.command : undefined}
          opened={(number) => change(one.key, { number, ended: false })} ended={() => change(one.key, { ended: true })}
          titled={(title) => change(one.key, { title })} />
      ))}
    </div>
  )
}
