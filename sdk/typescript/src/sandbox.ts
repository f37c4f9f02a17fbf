// SPDX-License-Identifier: Apache-2.0
// Sandbox: a private computer for an agent, over any connection.
import { fromBase64, toBase64, toBytes, toText } from './encoding.js'
import { CancelledError, ClocheError, CommandError } from './errors.js'
import { describeCommands, serveCommands, servedCommands } from './host_commands.js'
import type { CallDetails, Rpc } from './rpc.js'
import type {
  CallOptions, CallbackDescription, CallbackFunction, CommandResult, ExecuteOptions, Figure, FileDetails,
  FileInfo, HistoryEntry, HostCommands, Json, PythonResult, RunOptions, SandboxOptions, StandardSchema, Usage,
} from './types.js'

const chunkBytes = 8 << 20
const writeBytes = 1 << 20
const againMs = 10
/** Characters of a started command's output that are kept; what is more is dropped, and told. */
const outputLimit = 64 << 20
/** What a terminal may have printed that `onData` has not taken yet. */
const windowBytes = 1 << 20
const toldBytes = windowBytes / 8
const ignore = () => undefined

interface WireResult {
  exitCode: number
  stdout?: string
  stderr?: string
  executionTimeMs: number
  status?: CommandResult['status']
  reason?: string
  stdoutTruncated?: boolean
  stderrTruncated?: boolean
  figures?: { mimeType: string; data: string; path?: string }[]
  result?: string | null
  error?: PythonResult['error']
  steps?: PythonResult['steps']
  peakMemoryBytes?: PythonResult['peakMemoryBytes']
}

/** How a sandbox is reached: its connection, its name there, and what ends with it. */
export interface Link {
  rpc: Rpc
  sandboxId: string
  sessionId?: string
  /** Another user of the connection. */
  retain(): void
  /** No user any more. */
  release(): Promise<void>
}

const call = <T>(link: Link, method: string, params: object = {}, options: CallDetails = {}): Promise<T> =>
  link.rpc.call<T>(method, { sandboxId: link.sandboxId, ...params }, options)

// What is absent is left out: null counts as absent on the wire, undefined has no JSON.
const given = <T extends object>(params: T): Partial<T> =>
  Object.fromEntries(Object.entries(params).filter(([, value]) => value !== undefined)) as Partial<T>

function commonResult(wire: WireResult, streamed: { stdout: string; stderr: string }): CommandResult {
  const figures: Figure[] = (wire.figures ?? []).map(({ mimeType, data, path }) =>
    path === undefined ? { mimeType, data: fromBase64(data) } : { mimeType, data: fromBase64(data), path })
  return {
    exitCode: wire.exitCode,
    stdout: streamed.stdout + (wire.stdout ?? ''),
    stderr: streamed.stderr + (wire.stderr ?? ''),
    executionTimeMs: wire.executionTimeMs,
    status: wire.status ?? 'exited',
    reason: wire.reason ?? '',
    truncated: Boolean(wire.stdoutTruncated || wire.stderrTruncated),
    figures,
  }
}

interface Streaming {
  onStdout?: ((text: string) => void) | undefined
  onStderr?: ((text: string) => void) | undefined
}

/** Collects what is streamed, and passes it on. */
function collector({ onStdout, onStderr }: Streaming) {
  const text = { stdout: '', stderr: '' }
  const wanted = onStdout !== undefined || onStderr !== undefined
  const output = (stream: 'stdout' | 'stderr', data: string) => {
    text[stream] += data
    if (stream === 'stdout') onStdout?.(data)
    else onStderr?.(data)
  }
  return { text, output: wanted ? output : undefined, wanted }
}

/** Of a command that is no more, which may be told after this answer. */
function hasEnded(error: unknown): boolean {
  return error instanceof ClocheError && error.code === 'ESRCH'
}

/** A command on its way: iterate over what it prints, write to it, wait for its end. */
export class Command implements AsyncIterable<{ stream: 'stdout' | 'stderr'; data: string }> {
  readonly #link: Link
  readonly #number: number
  readonly #pieces: { stream: 'stdout' | 'stderr'; data: string }[] = []
  readonly #done: Promise<CommandResult>
  readonly #text = { stdout: '', stderr: '' }
  #input: Promise<void> = Promise.resolve()
  #truncated = false
  #wake: () => void = ignore
  #ended = false

  constructor(link: Link, number: number) {
    this.#link = link
    this.#number = number
    this.#done = new Promise<CommandResult>((resolve, reject) => {
      const stops: (() => void)[] = []
      const finish = () => {
        this.#ended = true
        for (const stop of stops) stop()
        this.#wake()
      }
      stops.push(
        link.rpc.on('command.output', (params) => {
          if (params['command'] !== number) return
          const piece = { stream: params['stream'] as 'stdout' | 'stderr', data: params['data'] as string }
          if (this.#text.stdout.length + this.#text.stderr.length + piece.data.length > outputLimit) {
            this.#truncated = true
            return
          }
          this.#text[piece.stream] += piece.data
          this.#pieces.push(piece)
          this.#wake()
        }),
        link.rpc.on('command.exit', (params) => {
          if (params['command'] !== number) return
          const result = commonResult(params as unknown as WireResult, this.#text)
          resolve({ ...result, truncated: result.truncated || this.#truncated })
          finish()
        }),
        link.rpc.onLost((error) => {
          reject(error)
          finish()
        }),
      )
    })
    this.#done.catch(ignore)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<{ stream: 'stdout' | 'stderr'; data: string }> {
    for (;;) {
      const piece = this.#pieces.shift()
      if (piece) {
        yield piece
      } else if (this.#ended) {
        await this.#done // which says so where its server is gone
        return
      } else {
        await this.#held(new Promise<void>((resolve) => (this.#wake = resolve)))
      }
    }
  }

  // Who waits keeps the process alive; a command that nobody waits for does not.
  async #held<T>(waited: Promise<T>): Promise<T> {
    this.#link.rpc.hold(true)
    try {
      return await waited
    } finally {
      this.#link.rpc.hold(false)
    }
  }

  /** Gives bytes to its standard input; waits where it reads slowly. `EPIPE`: it reads no more. */
  write(data: string | Uint8Array): Promise<void> {
    const bytes = typeof data === 'string' ? toBytes(data) : data.slice()
    return this.#afterInput(async () => {
      for (let at = 0; at < bytes.length; at += writeBytes) await this.#give(bytes.subarray(at, at + writeBytes))
    })
  }

  /** Ends its standard input, after what was written. Nothing for one that has ended. */
  end(): Promise<void> {
    return this.#afterInput(() => this.#tell('command.end'))
  }

  async #give(piece: Uint8Array): Promise<void> {
    const data = toBase64(piece)
    for (;;) {
      try {
        await call(this.#link, 'command.write', { command: this.#number, data })
        return
      } catch (error) {
        if (hasEnded(error)) throw new ClocheError('EPIPE: the command has ended', 'EPIPE')
        if (!(error instanceof ClocheError) || error.code !== 'EAGAIN') throw error
      }
      await new Promise((resolve) => setTimeout(resolve, againMs))
    }
  }

  // Pieces of two writes never mix, whoever waits for them.
  #afterInput(act: () => Promise<void>): Promise<void> {
    const done = this.#input.then(act)
    this.#input = done.catch(ignore)
    return done
  }

  /** Sends it a signal; 9 without one. Nothing for one that has ended. */
  kill(signal = 9): Promise<void> {
    return this.#tell('command.kill', { signal })
  }

  async #tell(method: string, params: Record<string, unknown> = {}): Promise<void> {
    try {
      await call(this.#link, method, { command: this.#number, ...params })
    } catch (error) {
      if (!hasEnded(error)) throw error
    }
  }

  /** Waits for its end. */
  wait(): Promise<CommandResult> {
    return this.#held(this.#done)
  }
}

/** Commands in the sandbox's shell, which keeps its folder and variables between them. */
export class Commands {
  readonly #link: Link
  constructor(link: Link) {
    this.#link = link
  }

  /** Runs a command and waits for its end. */
  async run(command: string, options: RunOptions = {}): Promise<CommandResult> {
    const { timeoutMs, cwd, env, stdin, check, signal } = options
    const { text, output, wanted } = collector(options)
    const wire = await call<WireResult>(this.#link, 'run', given({
      command, timeoutMs, cwd, env, detail: true, figures: true,
      stream: wanted || undefined,
      stdin: typeof stdin === 'string' ? stdin : undefined,
      stdinBase64: stdin instanceof Uint8Array ? toBase64(stdin) : undefined,
    }), { signal, output })
    if (signal?.aborted) throw new CancelledError('the command was cancelled', 'ECANCELED')
    const result = commonResult(wire, text)
    if (check && result.exitCode !== 0) throw new CommandError(result)
    return result
  }

  /** Starts a command to talk with, in a shell of its own. It runs beside others. */
  async start(command: string, options: Omit<RunOptions, 'stdin' | 'check' | 'onStdout' | 'onStderr'> = {}): Promise<Command> {
    const { timeoutMs, cwd, env, signal } = options
    let started: Command | undefined
    await call(this.#link, 'command.start', given({ script: command, timeoutMs, cwd, env }), {
      answered: (result) => (started = new Command(this.#link, (result as { command: number }).command)),
    })
    const running = started as unknown as Command
    signal?.addEventListener('abort', () => void running.kill().catch(ignore), { once: true })
    return running
  }

  /** Functions of this process are programs of the sandbox from now on, instead of those that it had. */
  async serve(commands: HostCommands): Promise<void> {
    await call(this.#link, 'commands.set', { commands: describeCommands(commands) }, {
      answered: () => serveCommands(this.#link.rpc, this.#link.sandboxId, commands),
    })
  }

  /** The last commands. */
  async history(options: CallOptions = {}): Promise<HistoryEntry[]> {
    return (await call<{ entries: HistoryEntry[] }>(this.#link, 'history.list', {}, options)).entries
  }
}

/** Files. Paths are absolute, or relative to `/workspace`. */
export class Files {
  readonly #link: Link
  constructor(link: Link) {
    this.#link = link
  }

  async read(path: string, options: CallOptions & { offset?: number; length?: number } = {}): Promise<Uint8Array> {
    const parts: Uint8Array[] = []
    let size = 0
    for (;;) {
      const length = Math.min(chunkBytes, (options.length ?? Infinity) - size)
      const { data } = await call<{ data: string }>(this.#link, 'files.read',
        { path, offset: (options.offset ?? 0) + size, length }, options)
      const part = fromBase64(data)
      parts.push(part)
      size += part.length
      if (part.length < length || size === options.length) break
    }
    const whole = new Uint8Array(size)
    let at = 0
    for (const part of parts) {
      whole.set(part, at)
      at += part.length
    }
    return whole
  }

  async readText(path: string, options: CallOptions = {}): Promise<string> {
    return toText(await this.read(path, options))
  }

  async write(path: string, data: string | Uint8Array, options: CallOptions & { mode?: number; append?: boolean } = {}): Promise<void> {
    const bytes = toBytes(data)
    let append = options.append ?? false
    for (let at = 0; at === 0 || at < bytes.length; at += chunkBytes) {
      await call(this.#link, 'files.write',
        given({ path, data: toBase64(bytes.subarray(at, at + chunkBytes)), append, mode: at === 0 ? options.mode : undefined }), options)
      append = true
    }
  }

  async list(path = '.', options: CallOptions = {}): Promise<FileDetails[]> {
    return (await call<{ entries: FileDetails[] }>(this.#link, 'files.list', { path, detail: true }, options)).entries
  }

  /** Of what a link leads to. */
  stat(path: string, options: CallOptions = {}): Promise<FileInfo> {
    return call(this.#link, 'files.stat', { path }, options)
  }

  /** Of a link itself. */
  lstat(path: string, options: CallOptions = {}): Promise<FileDetails> {
    return call(this.#link, 'files.stat', { path, detail: true }, options)
  }

  async exists(path: string, options: CallOptions = {}): Promise<boolean> {
    try {
      await this.stat(path, options)
      return true
    } catch (error) {
      if (error instanceof ClocheError && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return false
      throw error
    }
  }

  async mkdir(path: string, options: CallOptions & { parents?: boolean } = {}): Promise<void> {
    await call(this.#link, 'files.mkdir', { path, parents: options.parents ?? false }, options)
  }

  async remove(path: string, options: CallOptions & { recursive?: boolean } = {}): Promise<void> {
    await call(this.#link, 'files.rm', { path, recursive: options.recursive ?? false }, options)
  }

  async rename(from: string, to: string, options: CallOptions = {}): Promise<void> {
    await call(this.#link, 'files.rename', { from, to }, options)
  }

  /** `*`, `?`, `[...]`, `**`. */
  async glob(pattern: string, options: CallOptions = {}): Promise<string[]> {
    return (await call<{ paths: string[] }>(this.#link, 'files.glob', { pattern }, options)).paths
  }

  async chmod(path: string, mode: number, options: CallOptions = {}): Promise<void> {
    await call(this.#link, 'files.chmod', { path, mode }, options)
  }

  async symlink(target: string, path: string, options: CallOptions = {}): Promise<void> {
    await call(this.#link, 'files.symlink', { target, path }, options)
  }

  /** A folder's content, or one file, as a tar archive. */
  async download(path: string, options: CallOptions = {}): Promise<Uint8Array> {
    return fromBase64((await call<{ data: string }>(this.#link, 'files.tarOut', { path }, options)).data)
  }

  /** Unpacks a tar archive into a folder. */
  async upload(path: string, archive: Uint8Array, options: CallOptions = {}): Promise<void> {
    await call(this.#link, 'files.tarIn', { path, data: toBase64(archive) }, options)
  }

  /** The file piece by piece. */
  readable(path: string, options: CallOptions = {}): ReadableStream<Uint8Array> {
    let offset = 0
    return new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        const part = await this.read(path, { ...options, offset, length: chunkBytes })
        offset += part.length
        if (part.length > 0) controller.enqueue(part)
        if (part.length < chunkBytes) controller.close()
      },
    })
  }

  /** Replaces the file by what is written. */
  writable(path: string, options: CallOptions & { mode?: number } = {}): WritableStream<Uint8Array> {
    return new WritableStream<Uint8Array>({
      start: () => this.write(path, '', options),
      write: (part) => this.write(path, part, { ...options, append: true }),
    })
  }
}

const isSchema = (value: unknown): value is StandardSchema =>
  typeof value === 'object' && value !== null && '~standard' in value

function describe(name: string, callback: CallbackFunction | CallbackDescription) {
  if (typeof callback === 'function') return { name }
  const { description, parameters, timeoutMs } = callback
  return given({ name, description, timeoutMs, parametersSchema: isSchema(parameters) ? undefined : parameters })
}

async function answer(callback: CallbackFunction | CallbackDescription, args: Record<string, Json>): Promise<Json> {
  if (typeof callback === 'function') return (await callback(args)) ?? null
  let checked = args
  if (isSchema(callback.parameters)) {
    const outcome = await callback.parameters['~standard'].validate(args)
    if (outcome.issues) throw new TypeError(outcome.issues.map(({ message }) => message).join('; '))
    checked = outcome.value as Record<string, Json>
  }
  return (await callback.run(checked)) ?? null
}

/** The sandbox's Python, which keeps its names between calls. */
export class Python {
  readonly #link: Link
  constructor(link: Link) {
    this.#link = link
  }

  /** Runs code. An exception in it is no error here: see `error` of the result. */
  async execute(code: string, options: ExecuteOptions = {}): Promise<PythonResult> {
    const { timeoutMs, callbacks, signal, figures = true, maxSteps: steps } = options
    const { text, output, wanted } = collector(options)
    const question = callbacks && (async (_: string, params: Record<string, Json>) => {
      const callback = callbacks[params['name'] as string]
      if (!callback) throw new Error(`there is no callback ${String(params['name'])}`)
      return answer(callback, params['arguments'] as Record<string, Json>)
    })
    const wire = await call<WireResult>(this.#link, 'python.execute', given({
      code, timeoutMs, steps, figures, detail: true, stream: wanted || undefined,
      callbacks: callbacks && Object.entries(callbacks).map(([name, callback]) => describe(name, callback)),
    }), { signal, output, question })
    if (signal?.aborted) throw new CancelledError('the code was cancelled', 'ECANCELED')
    return {
      ...commonResult(wire, text), result: wire.result ?? null, error: wire.error ?? null, steps: wire.steps ?? null,
      peakMemoryBytes: wire.peakMemoryBytes ?? null,
    }
  }
}

/** Variables of the commands that follow. */
export class Environment {
  readonly #link: Link
  constructor(link: Link) {
    this.#link = link
  }
  async set(name: string, value: string): Promise<void> {
    await call(this.#link, 'env.set', { name, value })
  }
  async get(name: string): Promise<string | null> {
    return (await call<{ value: string | null }>(this.#link, 'env.get', { name })).value
  }
  async all(): Promise<Record<string, string>> {
    return (await call<{ env: Record<string, string> }>(this.#link, 'env.list')).env
  }
}

/** Python packages. */
export class Packages {
  readonly #link: Link
  constructor(link: Link) {
    this.#link = link
  }
  async install(...packages: string[]): Promise<void> {
    await call(this.#link, 'packages.install', { packages })
  }
  list(): Promise<{ installed: string[]; available: string[] }> {
    return call(this.#link, 'packages.list')
  }
}

/** A terminal of a server's session. */
export class Terminal {
  readonly #link: Link
  readonly number: number
  readonly #done: Promise<{ exitCode: number; signal: number }>

  constructor(link: Link, number: number, onData: (data: Uint8Array) => unknown) {
    this.#link = link
    this.number = number
    link.rpc.hold(true)
    this.#done = new Promise((resolve, reject) => {
      const stops: (() => void)[] = []
      let open = true
      let untold = 0
      let earlier: Promise<void> | undefined // until `onData` has taken what came before
      const finish = () => {
        if (!open) return
        open = false
        for (const stop of stops) stop()
        link.rpc.onTerminal(number, undefined)
        link.rpc.hold(false)
      }
      const fail = (error: unknown) => {
        reject(error)
        if (open) this.close().catch(ignore)
        finish()
      }
      const taken = (bytes: number) => {
        untold += bytes
        if (untold < toldBytes || !open) return
        call(link, 'terminal.taken', { terminal: number, bytes: untold }).catch(ignore)
        untold = 0
      }
      const takeLater = (waited: unknown, bytes: number) => {
        const done = Promise.resolve(waited).then(() => {
          if (earlier === done) earlier = undefined
          taken(bytes)
        })
        done.catch(fail)
        earlier = done
      }
      link.rpc.onTerminal(number, (data) => {
        if (earlier) return takeLater(earlier.then(() => onData(data)), data.length)
        try {
          const answer = onData(data)
          if (typeof (answer as PromiseLike<unknown> | undefined)?.then === 'function') takeLater(answer, data.length)
          else taken(data.length)
        } catch (error) {
          fail(error)
        }
      })
      stops.push(
        link.rpc.on('terminal.exit', (params) => {
          if (params['terminal'] !== number) return
          finish()
          const end = { exitCode: params['exitCode'] as number, signal: params['signal'] as number }
          if (earlier) earlier.then(() => resolve(end), ignore)
          else resolve(end)
        }),
        link.rpc.onLost((error) => {
          finish()
          reject(error)
        }),
      )
    })
    this.#done.catch(ignore)
  }

  write(data: string | Uint8Array): void {
    this.#link.rpc.type(this.number, toBytes(data))
  }
  async resize(cols: number, rows: number): Promise<void> {
    await call(this.#link, 'terminal.resize', { terminal: this.number, cols, rows })
  }
  /** Hangs up. */
  async close(): Promise<void> {
    await call(this.#link, 'terminal.close', { terminal: this.number })
  }
  /** Waits for the end of its program. What `onData` throws hangs up, and is thrown here. */
  wait(): Promise<{ exitCode: number; signal: number }> {
    return this.#done
  }
}

/** A moment of a sandbox. */
export class Snapshot {
  readonly #link: Link
  readonly id: string
  constructor(link: Link, id: string) {
    this.#link = link
    this.id = id
  }
  /** Takes the sandbox back to this moment; what runs in it ends. */
  async restore(): Promise<void> {
    await call(this.#link, 'snapshot.restore', { id: this.id })
  }
  async delete(): Promise<void> {
    await call(this.#link, 'snapshot.remove', { id: this.id })
  }
}

/** A private computer: a shell, tools, Python and files. */
export class SandboxBase {
  readonly commands: Commands
  readonly files: Files
  readonly python: Python
  readonly env: Environment
  readonly packages: Packages
  readonly #link: Link
  #open = true

  /** @internal Use `Sandbox.create`. */
  constructor(link: Link) {
    this.#link = link
    this.commands = new Commands(link)
    this.files = new Files(link)
    this.python = new Python(link)
    this.env = new Environment(link)
    this.packages = new Packages(link)
  }

  /** Its name at the server. */
  get id(): string {
    return this.#link.sandboxId
  }
  /** Of a server's session: any client with the same token may attach to it. */
  get sessionId(): string | undefined {
    return this.#link.sessionId
  }
  get isAlive(): boolean {
    return this.#open && this.#link.rpc.isOpen
  }

  async snapshot(): Promise<Snapshot> {
    return new Snapshot(this.#link, (await call<{ id: string }>(this.#link, 'snapshot.create')).id)
  }
  restore(snapshot: Snapshot): Promise<void> {
    return snapshot.restore()
  }

  /** Independent sandboxes that go on from here. */
  async fork(): Promise<this>
  async fork(count: number): Promise<this[]>
  async fork(count?: number): Promise<this | this[]> {
    const twins: this[] = []
    for (let made = 0; made < (count ?? 1); made++) {
      const { rpc, sandboxId } = this.#link
      const reply = await call<{ sandboxId: string; sessionId?: string }>(this.#link, 'sandbox.fork', {}, {
        answered: (result) => serveCommands(rpc, (result as { sandboxId: string }).sandboxId, servedCommands(rpc, sandboxId)),
      })
      this.#link.retain()
      twins.push(new (this.constructor as new (link: Link) => this)({ ...this.#link, ...reply }))
    }
    return count === undefined ? twins[0]! : twins
  }

  /** Files, environment and packages as bytes. */
  async export(): Promise<Uint8Array> {
    return fromBase64((await call<{ data: string }>(this.#link, 'persistence.export')).data)
  }
  /** Replaces the state by one that `export` gave. */
  async load(state: Uint8Array): Promise<void> {
    await call(this.#link, 'persistence.import', { data: toBase64(state) })
  }
  /** Ends the calls that are in progress, with all that they have started, and takes back those that wait. A live
   * Python, background jobs and started commands go on. */
  async cancel(): Promise<void> {
    await call(this.#link, 'cancel')
  }
  usage(): Promise<Usage> {
    return call(this.#link, 'figures')
  }

  /** A terminal, of a server's session; a local sandbox has none. `onData` may return a promise: the next piece comes
   * after it, and what the terminal prints waits while more than 1 MiB is not taken, five seconds at most. */
  async terminal(options: { cols?: number; rows?: number; command?: string; cwd?: string; attach?: number; onData: (data: Uint8Array) => unknown }): Promise<Terminal> {
    const { onData, ...params } = options
    let opened: Terminal | undefined
    await call(this.#link, 'terminal.open', { ...given(params), window: windowBytes }, {
      answered: (result) => (opened = new Terminal(this.#link, (result as { terminal: number }).terminal, onData)),
    })
    return opened as unknown as Terminal
  }

  /** Ends the sandbox and all that runs in it. A second time does nothing. */
  async kill(): Promise<void> {
    if (!this.#open) return
    this.#open = false
    try {
      await call(this.#link, 'sandbox.destroy')
    } catch (error) {
      if (this.#link.rpc.isOpen && !(error instanceof ClocheError)) throw error
    } finally {
      serveCommands(this.#link.rpc, this.#link.sandboxId, undefined)
      await this.#link.release()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill()
  }
}

/** Makes the sandbox that the options ask for; its names at the server. */
export function createSandbox<Reply extends { sandboxId: string }>(
  rpc: Rpc, options: SandboxOptions & { url?: unknown; token?: unknown }): Promise<Reply> {
  const { signal, url: _url, token: _token, commands, ...params } = options
  return rpc.call<Reply>('sandbox.create', given({ ...params, commands: commands && describeCommands(commands) }), {
    signal,
    answered: (result) => commands && serveCommands(rpc, (result as Reply).sandboxId, commands),
  })
}
