// SPDX-License-Identifier: Apache-2.0
// One call of a command that is a function of this process.
import { fromBase64, toBase64, toBytes, toText } from './encoding.js'
import { CancelledError, ClocheError } from './errors.js'
import type { Rpc } from './rpc.js'
import type { Json } from './types.js'

const pieceBytes = 64 << 10
const unreadLimitBytes = 1 << 20

/** Where a command prints to. */
export interface CommandOutput {
  /** Text, as UTF-8, or bytes: all of it; waits while its reader is slow. */
  write(data: string | Uint8Array): Promise<void>
}

/** Standard input. Nothing is taken from it before it is read. */
export interface CommandInput extends AsyncIterable<Uint8Array> {
  /** What there is, 64 KiB at most; nothing is its end. */
  read(): Promise<Uint8Array | undefined>
  /** All of it, as UTF-8. */
  text(): Promise<string>
  /** Line by line, without their ends. */
  lines(): AsyncIterable<string>
}

/** What a program has from who started it. Reads and writes fail with a CancelledError once its process is gone. */
export class CommandCall {
  /** @internal */
  readonly number: number
  readonly name: string
  /** Without the name. */
  readonly args: string[]
  readonly cwd: string
  readonly env: Record<string, string>
  readonly stdin: CommandInput
  readonly stdout: CommandOutput
  readonly stderr: CommandOutput
  /** Fires when the process is gone: killed, over its time, or nobody reads what it prints. */
  readonly signal: AbortSignal

  readonly #rpc: Rpc
  readonly #ended = new AbortController()
  #changed: () => void = () => undefined
  #change: Promise<void> = Promise.resolve()
  #input: Uint8Array[] = []
  #atEnd = false
  #wantedBytes = 0
  #unreadBytes = 0
  #problem: Error | undefined
  #writes: Promise<void> = Promise.resolve()

  /** @internal */
  constructor(rpc: Rpc, params: Record<string, Json>) {
    this.#rpc = rpc
    this.number = params['call'] as number
    this.name = params['name'] as string
    this.args = params['arguments'] as string[]
    this.cwd = params['cwd'] as string
    this.env = params['env'] as Record<string, string>
    this.signal = this.#ended.signal
    this.#tell()
    const read = () => this.#read()
    this.stdin = {
      read,
      async text() {
        const parts: Uint8Array[] = []
        for await (const part of this) parts.push(part)
        return toText(joined(parts))
      },
      async *lines() {
        const decoder = new TextDecoder()
        let rest = ''
        for await (const part of this) {
          const lines = (rest + decoder.decode(part, { stream: true })).split('\n')
          rest = lines.pop()!
          yield* lines
        }
        rest += decoder.decode()
        if (rest) yield rest
      },
      async *[Symbol.asyncIterator]() {
        for (let part = await read(); part; part = await read()) yield part
      },
    }
    this.stdout = { write: (data) => this.#write('stdout', data) }
    this.stderr = { write: (data) => this.#write('stderr', data) }
  }

  /** @internal What the server tells. */
  take(method: 'call.input' | 'call.taken' | 'call.end', params: Record<string, Json>): void {
    if (method === 'call.input') {
      const data = fromBase64(params['data'] as string)
      this.#wantedBytes -= data.length
      if (data.length > 0) this.#input.push(data)
      if (params['error'] !== undefined) this.#problem = new ClocheError('standard input cannot be read', String(params['error']))
      else if (data.length === 0) this.#atEnd = true
    } else if (method === 'call.taken') {
      this.#unreadBytes -= params['bytes'] as number
    } else {
      this.#ended.abort()
    }
    this.#tell()
  }

  /** @internal Once all that was written is on its way. */
  written(): Promise<void> {
    return this.#writes
  }

  #tell(): void {
    this.#changed()
    this.#change = new Promise((resolve) => (this.#changed = resolve))
  }

  #check(): void {
    if (this.signal.aborted)
      throw new CancelledError(`the call of ${this.name} has ended: nobody waits for it any more`, 'ECANCELED')
    if (this.#problem) throw this.#problem
  }

  async #read(): Promise<Uint8Array | undefined> {
    for (;;) {
      this.#check()
      const part = this.#input.shift()
      if (part || this.#atEnd) return part
      if (this.#wantedBytes === 0) {
        this.#wantedBytes = pieceBytes
        this.#send('call.read', { bytes: pieceBytes })
      }
      await this.#change
    }
  }

  #write(stream: 'stdout' | 'stderr', data: string | Uint8Array): Promise<void> {
    const bytes = toBytes(data)
    const written = this.#writes.then(async () => {
      for (let at = 0; at < bytes.length; at += pieceBytes) {
        const piece = bytes.subarray(at, at + pieceBytes)
        this.#check()
        while (this.#unreadBytes + piece.length > unreadLimitBytes) {
          await this.#change
          this.#check()
        }
        this.#unreadBytes += piece.length
        this.#send('call.write', { stream, data: toBase64(piece) })
      }
    })
    this.#writes = written.catch(() => undefined)
    return written
  }

  #send(method: string, params: Record<string, Json>): void {
    this.#rpc.call(method, { call: this.number, ...params }).catch((error: unknown) => {
      if (error instanceof CancelledError || !this.#rpc.isOpen) this.#ended.abort()
      else this.#problem ??= error instanceof Error ? error : new ClocheError(String(error))
      this.#tell()
    })
  }
}

function joined(parts: Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}
