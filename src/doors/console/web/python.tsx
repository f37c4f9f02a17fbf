// SPDX-License-Identifier: Apache-2.0
// Cells of the sandbox's Python, as in a notebook. The interpreter is the one that the agent uses.
import { useEffect, useState } from 'preact/hooks'
import { server } from './connection.js'
import { Button, save, say } from './parts.js'
import { duration, problem, short } from './words.js'

const outputLimit = 1 << 20

interface Output {
  kind: 'stdout' | 'stderr' | 'result' | 'error' | 'figure'
  text: string
}
interface Cell {
  key: number
  code: string
  outputs: Output[]
  state: 'idle' | 'running'
  count?: number
  durationMs?: number
}
interface Result {
  stdout: string
  stderr: string
  result: string | null
  error: { type: string; message: string } | null
  executionTimeMs: number
  figures?: { mimeType: string; data: string }[]
}

// What a session's cells are, as long as the page is: whoever comes back from another view finds them, and what runs.
interface Notebook {
  cells: Cell[]
  count: number
  lastKey: number
  running: Map<number, number>
  changed: (() => void) | undefined
}
const notebooks = new Map<string, Notebook>()

function notebookOf(session: string): Notebook {
  let book = notebooks.get(session)
  if (!book) {
    let codes = ['']
    try {
      codes = JSON.parse(sessionStorage.getItem(`cloche.cells.${session}`) ?? '[""]') as string[]
    } catch {
      // What was kept there is none of ours.
    }
    book = { cells: codes.map((code, key) => ({ key, code, outputs: [], state: 'idle' })), count: 0, lastKey: 1000, running: new Map(), changed: undefined }
    notebooks.set(session, book)
  }
  return book
}

function Outputs({ outputs }: { outputs: Output[] }) {
  return (
    <div class="outputs">
      {outputs.map((one, at) => one.kind === 'figure'
        ? <img key={at} src={`data:image/png;base64,${one.text}`} alt="Figure" />
        : <pre key={at} class={one.kind} tabIndex={0}>{one.text}</pre>)}
    </div>
  )
}

export function Python({ session }: { session: string }) {
  const book = notebookOf(session)
  const { cells } = book
  const [, redraw] = useState(0)
  useEffect(() => {
    book.changed = () => redraw((n) => n + 1)
    return () => { book.changed = undefined }
  }, [book])
  useEffect(() => sessionStorage.setItem(`cloche.cells.${session}`, JSON.stringify(cells.map((one) => one.code).slice(0, 200))), [cells])
  const setCells = (by: (now: Cell[]) => Cell[]) => {
    book.cells = by(book.cells)
    book.changed?.()
  }
  const change = (key: number, by: (cell: Cell) => Partial<Cell>) =>
    setCells((now) => now.map((one) => (one.key === key ? { ...one, ...by(one) } : one)))
  const add = (after: number): number => {
    const key = ++book.lastKey
    setCells((now) => now.flatMap((one) => (one.key === after ? [one, { key, code: '', outputs: [], state: 'idle' as const }] : [one])))
    return key
  }
  const print = (key: number, kind: Output['kind'], text: string) => {
    if (text === '') return
    change(key, ({ outputs }) => {
      const size = outputs.reduce((sum, one) => sum + (one.kind === 'figure' ? 0 : one.text.length), 0)
      if (kind !== 'figure' && size >= outputLimit) return {}
      const kept = kind === 'figure' ? text : text.slice(0, outputLimit - size)
      const before = outputs[outputs.length - 1]
      return before?.kind === kind && (kind === 'stdout' || kind === 'stderr')
        ? { outputs: [...outputs.slice(0, -1), { kind, text: before.text + kept }] }
        : { outputs: [...outputs, { kind, text: kept }] }
    })
  }
  const run = async (cell: Cell) => {
    if (cell.code.trim() === '' || cell.state === 'running') return
    change(cell.key, () => ({ state: 'running', outputs: [] }))
    try {
      const result = await server.in<Result>(session, 'python.execute',
        { code: cell.code, stream: true, figures: true, timeoutMs: 0 }, {
          number: (id) => book.running.set(cell.key, id),
          output: (stream, data) => print(cell.key, stream as 'stdout' | 'stderr', data),
        })
      print(cell.key, result.error ? 'error' : 'stderr', result.stderr)
      if (result.result !== null) print(cell.key, 'result', result.result)
      for (const figure of result.figures ?? []) print(cell.key, 'figure', figure.data)
      change(cell.key, () => ({ durationMs: result.executionTimeMs, count: ++book.count }))
    } catch (caught) {
      print(cell.key, 'error', problem(caught))
    }
    book.running.delete(cell.key)
    change(cell.key, () => ({ state: 'idle' }))
  }
  // The cell that runs, and before it those that wait for it.
  const interrupt = async () => {
    const sandboxId = await server.sandboxOf(session)
    for (const id of [...book.running.values()].reverse()) await server.call('cancel', { sandboxId, id })
  }
  const keys = (event: KeyboardEvent, cell: Cell) => {
    const area = event.currentTarget as HTMLTextAreaElement
    if (event.key === 'Enter' && (event.shiftKey || event.ctrlKey)) {
      event.preventDefault()
      void run({ ...cell, code: area.value })
      if (!event.shiftKey) return
      const index = cells.findIndex((one) => one.key === cell.key)
      const next = cells[index + 1]?.key ?? add(cell.key)
      requestAnimationFrame(() => document.getElementById(`cell-${next}`)?.focus())
    } else if (event.key === 'Tab' && !event.shiftKey && area.value !== '') {
      event.preventDefault()
      area.setRangeText('    ', area.selectionStart, area.selectionEnd, 'end')
      change(cell.key, () => ({ code: area.value }))
    } else if (event.key === 'Escape') area.blur()
  }
  const notebook = () => {
    const lines = (text: string) => text.split(/(?<=\n)/)
    save(`${short(session)}.ipynb`, JSON.stringify({
      nbformat: 4, nbformat_minor: 5, metadata: { language_info: { name: 'python' } },
      cells: cells.map((one) => ({
        id: `cell-${one.key}`, cell_type: 'code', metadata: {}, execution_count: one.count ?? null, source: lines(one.code),
        outputs: one.outputs.map((output) => output.kind === 'figure'
          ? { output_type: 'display_data', metadata: {}, data: { 'image/png': output.text } }
          : output.kind === 'result'
            ? { output_type: 'execute_result', metadata: {}, execution_count: one.count ?? null, data: { 'text/plain': lines(output.text) } }
            : { output_type: 'stream', name: output.kind === 'stdout' ? 'stdout' : 'stderr', text: lines(output.text) }),
      })),
    }, null, 1), 'application/x-ipynb+json')
  }
  const script = () => save(`${short(session)}.py`, cells.map((one) => `# %%\n${one.code}\n`).join('\n'), 'text/x-python')
  const busy = cells.some((one) => one.state === 'running')
  return (
    <div class="cells">
      <header>
        <p class="soft"><kbd>Shift</kbd> <kbd>Enter</kbd> runs a cell. Names stay, for the agent too.</p>
        {busy && <Button icon="stop" kind="danger" onClick={() => void interrupt().catch((error: unknown) => say({ text: problem(error) }))}>Interrupt</Button>}
        <Button icon="download" onClick={notebook}>.ipynb</Button>
        <Button icon="download" onClick={script}>.py</Button>
      </header>
      {cells.map((cell) => (
        <article key={cell.key} class={`cell ${cell.state}`}>
          <div class="gutter">
            <button type="button" class="run" aria-label="Run this cell" disabled={cell.state === 'running'} onClick={() => void run(cell)}>
              {cell.state === 'running' ? '•' : cell.count ?? '▸'}
            </button>
          </div>
          <div class="body">
            <textarea id={`cell-${cell.key}`} aria-label="Python code" spellcheck={false} autocapitalize="off" rows={Math.max(1, cell.code.split('\n').length)}
              placeholder="print('hello')" value={cell.code} onKeyDown={(event) => keys(event, cell)}
              onInput={(event) => { const code = event.currentTarget.value; change(cell.key, () => ({ code })) }} />
            <Outputs outputs={cell.outputs} />
            {cell.durationMs !== undefined && cell.state === 'idle' && <small class="soft">{duration(cell.durationMs)}</small>}
          </div>
          <span class="tools">
            <Button icon="add" label="Add a cell below" kind="quiet" onClick={() => add(cell.key)} />
            {cells.length > 1 && <Button icon="trash" label="Remove this cell" kind="quiet" onClick={() => setCells((now) => now.filter((one) => one.key !== cell.key))} />}
          </span>
        </article>
      ))}
    </div>
  )
}
