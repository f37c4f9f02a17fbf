// SPDX-License-Identifier: Apache-2.0
// The sandbox's files: folders, previews, editing, upload by drop, download. Names and contents are
// a guest's: they are text here, never markup.
import { useEffect, useRef, useState } from 'preact/hooks'
import { fromBase64, server, toBase64 } from './connection.js'
import { Button, Empty, Icon, save, say, Trouble } from './parts.js'
import { bytes, problem, visible } from './words.js'

const textLimit = 1 << 20
const pictureLimit = 16 << 20
const chunkBytes = 4 << 20
const tableRows = 200
const hexBytes = 4096

interface Entry {
  name: string
  type: 'file' | 'dir' | 'symlink' | 'other'
  size: number
  modifiedMs: number
  target?: string
}

const join = (folder: string, name: string) => (folder === '/' ? `/${name}` : `${folder}/${name}`)
const pictures: Record<string, string> = { png: 'image/png', jpg: 'image/jpeg', jpeg: 'image/jpeg', gif: 'image/gif', webp: 'image/webp', svg: 'image/svg+xml', bmp: 'image/bmp' }
const extension = (name: string) => name.slice(name.lastIndexOf('.') + 1).toLowerCase()

async function readAll(session: string, path: string, limit: number): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = []
  let size = 0
  while (size < limit) {
    const length = Math.min(chunkBytes, limit - size)
    const part = fromBase64((await server.in<{ data: string }>(session, 'files.read', { path, offset: size, length })).data)
    parts.push(part)
    size += part.length
    if (part.length < length) break
  }
  const whole = new Uint8Array(size)
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

async function writeAll(session: string, path: string, data: Uint8Array): Promise<void> {
  for (let at = 0; at === 0 || at < data.length; at += chunkBytes)
    await server.in(session, 'files.write', { path, data: toBase64(data.subarray(at, at + chunkBytes)), append: at > 0 })
}

// Rows of CSV: quotes may hold commas, quotes and ends of lines.
function rowsOf(text: string): string[][] {
  const rows: string[][] = [[]]
  let field = ''
  let inQuotes = false
  for (let at = 0; at < text.length && rows.length <= tableRows + 1; at++) {
    const c = text[at]!
    if (inQuotes) {
      if (c === '"' && text[at + 1] === '"') field += text[++at]
      else if (c === '"') inQuotes = false
      else field += c
    } else if (c === '"' && field === '') inQuotes = true
    else if (c === ',' || c === '\n') {
      rows[rows.length - 1]!.push(field.replace(/\r$/, ''))
      field = ''
      if (c === '\n') rows.push([])
    } else field += c
  }
  rows[rows.length - 1]!.push(field)
  return rows.filter((row) => row.some(Boolean)).slice(0, tableRows + 1)
}

function Table({ text }: { text: string }) {
  const [head, ...rows] = rowsOf(text)
  return (
    <div class="sheet">
      <table>
        <thead><tr>{head?.map((name, at) => <th key={at} scope="col">{name}</th>)}</tr></thead>
        <tbody>{rows.map((row, at) => <tr key={at}>{row.map((value, column) => <td key={column}>{value}</td>)}</tr>)}</tbody>
      </table>
    </div>
  )
}

function Hex({ data }: { data: Uint8Array }) {
  const lines = []
  for (let at = 0; at < Math.min(data.length, hexBytes); at += 16) {
    const part = [...data.subarray(at, at + 16)]
    const codes = part.map((byte) => byte.toString(16).padStart(2, '0')).join(' ').padEnd(47)
    lines.push(`${at.toString(16).padStart(8, '0')}  ${codes}  ${part.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : '.')).join('')}`)
  }
  return <pre class="hex" tabIndex={0}>{lines.join('\n')}{data.length > hexBytes ? '\n…' : ''}</pre>
}

function Picture({ data, type, name }: { data: Uint8Array<ArrayBuffer>; type: string; name: string }) {
  const [url, setUrl] = useState('')
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([data], { type }))
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [data, type])
  return <div class="picture">{url && <img src={url} alt={visible(name)} />}</div>
}

function Preview({ session, path, entry, changed }: { session: string; path: string; entry: Entry; changed: () => void }) {
  const [data, setData] = useState<Uint8Array<ArrayBuffer>>()
  const [draft, setDraft] = useState<string>()
  const [seen, setSeen] = useState(0)
  const [error, setError] = useState<unknown>()
  const picture = pictures[extension(entry.name)]
  const load = async () => {
    try {
      const about = await server.in<Entry>(session, 'files.stat', { path, detail: true })
      setData(await readAll(session, path, picture ? pictureLimit : textLimit))
      setSeen(about.modifiedMs)
      setDraft(undefined)
      setError(undefined)
    } catch (caught) {
      setError(caught)
    }
  }
  useEffect(() => {
    setData(undefined)
    void load()
  }, [path])
  let text: string | undefined
  if (data && !picture && entry.size <= textLimit) {
    try {
      text = new TextDecoder('utf-8', { fatal: true }).decode(data)
      if (text.includes('\0')) text = undefined
    } catch {
      text = undefined
    }
  }
  const store = async () => {
    try {
      // What somebody else wrote meanwhile is not overwritten.
      const about = await server.in<Entry>(session, 'files.stat', { path, detail: true })
      if (about.modifiedMs !== seen) throw new Error('The file has changed meanwhile: copy your text, then open it again.')
      await writeAll(session, path, new TextEncoder().encode(draft))
      say({ text: `${visible(entry.name)} is saved` })
      await load()
      changed()
    } catch (caught) {
      setError(caught)
    }
  }
  const isTable = text !== undefined && /^(csv|tsv)$/.test(extension(entry.name))
  return (
    <div class="preview">
      <header>
        <h3 title={visible(path)}>{visible(entry.name)}</h3>
        <span class="soft">{bytes(entry.size)}</span>
        {draft !== undefined && <Button kind="primary" onClick={() => void store()}>Save</Button>}
        {draft !== undefined && <Button onClick={() => setDraft(undefined)}>Discard</Button>}
        {text !== undefined && draft === undefined && <Button onClick={() => setDraft(text)}>Edit</Button>}
      </header>
      <Trouble error={error} />
      {data === undefined ? !error && <div class="loading" aria-busy="true" />
        : draft !== undefined
          ? <textarea class="editor" aria-label={`Text of ${visible(entry.name)}`} spellcheck={false} value={draft}
              onInput={(event) => setDraft(event.currentTarget.value)}
              onKeyDown={(event) => { if (event.key === 's' && (event.ctrlKey || event.metaKey)) { event.preventDefault(); void store() } }} />
          : picture ? <Picture data={data} type={picture} name={entry.name} />
            : isTable ? <Table text={text!} />
              : text !== undefined ? <pre class="text" tabIndex={0}>{text}</pre>
                : <Hex data={data} />}
    </div>
  )
}

// Files that were dropped, those in folders too.
async function dropped(items: DataTransferItemList): Promise<{ path: string; file: File }[]> {
  const found: { path: string; file: File }[] = []
  const walk = async (entry: FileSystemEntry, folder: string): Promise<void> => {
    if (entry.isFile) {
      const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject))
      found.push({ path: folder + entry.name, file })
      return
    }
    const reader = (entry as FileSystemDirectoryEntry).createReader()
    for (;;) {
      const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject))
      if (some.length === 0) return
      for (const child of some) await walk(child, `${folder}${entry.name}/`)
    }
  }
  const entries = [...items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null)
  for (const entry of entries) await walk(entry, '')
  return found
}

export function Files({ session }: { session: string }) {
  const [folder, setFolder] = useState('/workspace')
  const [entries, setEntries] = useState<Entry[]>()
  const [chosen, choose] = useState<Entry>()
  const [error, setError] = useState<unknown>()
  const [over, setOver] = useState(false)
  const picker = useRef<HTMLInputElement>(null)
  const load = async () => {
    try {
      const { entries: all } = await server.in<{ entries: Entry[] }>(session, 'files.list', { path: folder, detail: true })
      setEntries(all.sort((a, b) => Number(b.type === 'dir') - Number(a.type === 'dir') || a.name.localeCompare(b.name)))
      setError(undefined)
    } catch (caught) {
      setEntries([])
      setError(caught)
    }
  }
  useEffect(() => {
    choose(undefined)
    void load()
  }, [folder])
  useEffect(() => server.watch((state) => { if (state === 'open') void load() }), [folder])
  const act = (work: () => Promise<unknown>) => void work().then(load, (caught: unknown) => say({ text: problem(caught) }))
  const enter = async (entry: Entry) => {
    const path = join(folder, entry.name)
    if (entry.type === 'symlink') {
      const { type } = await server.in<{ type: string }>(session, 'files.stat', { path }).catch(() => ({ type: 'file' }))
      if (type !== 'dir') return choose(entry)
    } else if (entry.type !== 'dir') return choose(entry)
    setFolder(path)
  }
  const upload = (files: { path: string; file: File }[]) => act(async () => {
    for (const { path, file } of files) await writeAll(session, join(folder, path), new Uint8Array(await file.arrayBuffer()))
    say({ text: files.length === 1 ? `${visible(files[0]!.path)} is uploaded` : `${files.length} files are uploaded` })
  })
  const download = (entry: Entry) => act(async () => {
    const path = join(folder, entry.name)
    const data = entry.type === 'dir'
      ? fromBase64((await server.in<{ data: string }>(session, 'files.tarOut', { path })).data)
      : await readAll(session, path, Infinity)
    save(entry.type === 'dir' ? `${entry.name}.tar` : entry.name, data)
  })
  const rename = (entry: Entry) => {
    const name = prompt(`A new name for ${visible(entry.name)}`, entry.name)
    if (name && name !== entry.name) act(() => server.in(session, 'files.rename', { from: join(folder, entry.name), to: join(folder, name) }))
  }
  const remove = (entry: Entry) => {
    if (!confirm(`Delete ${visible(entry.name)}${entry.type === 'dir' ? ' and all that is in it' : ''}?`)) return
    if (chosen?.name === entry.name) choose(undefined)
    act(() => server.in(session, 'files.rm', { path: join(folder, entry.name), recursive: entry.type === 'dir' }))
  }
  const steps = folder.split('/').filter(Boolean)
  return (
    <div class={`files ${chosen ? 'split' : ''} ${over ? 'over' : ''}`}
      onDragOver={(event) => { event.preventDefault(); setOver(true) }} onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault()
        setOver(false)
        if (event.dataTransfer) void dropped(event.dataTransfer.items).then(upload)
      }}>
      <div class="browser">
        <header>
          <nav class="crumbs" aria-label="Folder">
            <button type="button" onClick={() => setFolder('/')}>/</button>
            {steps.map((name, at) => (
              <button key={at} type="button" onClick={() => setFolder(`/${steps.slice(0, at + 1).join('/')}`)}>{visible(name)}</button>
            ))}
          </nav>
          <input ref={picker} type="file" multiple hidden onChange={(event) => {
            upload([...(event.currentTarget.files ?? [])].map((file) => ({ path: file.name, file })))
            event.currentTarget.value = ''
          }} />
          <Button icon="upload" onClick={() => picker.current?.click()}>Upload</Button>
        </header>
        <Trouble error={error} />
        {entries?.length === 0 && !error && <Empty title="This folder is empty">Drop files here to upload them.</Empty>}
        <ul class="entries">
          {entries?.map((entry) => (
            <li key={entry.name} class={chosen?.name === entry.name ? 'chosen' : ''}>
              <button type="button" class="entry" onClick={() => void enter(entry)}>
                <Icon name={entry.type === 'dir' ? 'folder' : 'file'} />
                <span class="name">{visible(entry.name)}{entry.type === 'symlink' && <span class="soft"> → {visible(entry.target ?? '')}</span>}</span>
                <span class="soft figure">{entry.type === 'dir' ? '' : bytes(entry.size)}</span>
              </button>
              <span class="tools">
                <Button icon="download" label={`Download ${visible(entry.name)}`} kind="quiet" onClick={() => download(entry)} />
                <Button kind="quiet" onClick={() => rename(entry)}>Rename</Button>
                <Button icon="trash" label={`Delete ${visible(entry.name)}`} kind="quiet" onClick={() => remove(entry)} />
              </span>
            </li>
          ))}
        </ul>
      </div>
      {chosen && <Preview key={chosen.name} session={session} path={join(folder, chosen.name)} entry={chosen} changed={() => void load()} />}
    </div>
  )
}
