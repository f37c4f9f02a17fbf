// SPDX-License-Identifier: Apache-2.0
// The values that sandboxes take and answer with. Times are in milliseconds, sizes in bytes.

import type { CommandCall } from './command_call.js'

/** Values that JSON has. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json }

/** Cancels the call, and what it does in the sandbox, when it fires. */
export interface CallOptions {
  signal?: AbortSignal
}

/** A picture that code drew. */
export interface Figure {
  mimeType: string
  data: Uint8Array
  /** Its file in the sandbox, where a program showed it with `plt.show()`. */
  path?: string
}

export interface CommandResult {
  exitCode: number
  stdout: string
  stderr: string
  executionTimeMs: number
  status: 'exited' | 'signaled' | 'timedOut' | 'killed' | 'notStarted' | 'limit'
  /** One sentence for anything but `exited`; otherwise empty. */
  reason: string
  /** Whether it printed more than was kept. */
  truncated: boolean
  figures: Figure[]
}

export interface PythonResult extends CommandResult {
  /** The repr of the last expression, if it has a value. */
  result: string | null
  error: { type: string; message: string; line: number | null } | null
  /** The lines that were executed, where `maxSteps` limits them. */
  steps: number | null
  /** What the interpreter has had at most, with its libraries; null where it was killed. */
  peakMemoryBytes: number | null
}

export interface RunOptions extends CallOptions {
  /** Wall clock; 0 for none. */
  timeoutMs?: number
  cwd?: string
  env?: Record<string, string>
  stdin?: string | Uint8Array
  onStdout?: (text: string) => void
  onStderr?: (text: string) => void
  /** Throws CommandError when the exit code is not 0. */
  check?: boolean
}

/** Arguments as any library with the Standard Schema checks them, or a JSON Schema. */
export interface StandardSchema {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (
      value: unknown,
    ) => { value?: unknown; issues?: readonly { message: string }[] | undefined } |
      Promise<{ value?: unknown; issues?: readonly { message: string }[] | undefined }>
  }
}

/** A function of yours that Python code in the sandbox calls with `await name(a=1)`. */
export type CallbackFunction = (args: Record<string, Json>) => Json | void | Promise<Json | void>

export interface CallbackDescription {
  run: CallbackFunction
  description?: string
  /** Of its arguments: JSON Schema, or what implements the Standard Schema. */
  parameters?: { [name: string]: Json } | StandardSchema
  timeoutMs?: number
}

/** A function of yours that is a program in the sandbox: `search foo | head` in any script. It returns what it
 * prints (text gets its end of line, pieces are printed as they come, what is neither text nor bytes is JSON), its
 * exit code as a number, or nothing for 0. An error is a line on standard error and exit code 1. The sandbox waits
 * for it: it must not ask that same sandbox for anything. */
export type CommandFunction = (call: CommandCall) => CommandReply | Promise<CommandReply>
export type CommandReply =
  | string | Uint8Array | number | void | Json | Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>

export interface CommandDescription {
  run: CommandFunction
  /** What `NAME --help` prints; without it the function is called. */
  description?: string
}

/** By the names of the commands: letters, digits and `_ . + -`. */
export type HostCommands = Record<string, CommandFunction | CommandDescription>

export interface ExecuteOptions extends CallOptions {
  timeoutMs?: number
  onStdout?: (text: string) => void
  onStderr?: (text: string) => void
  callbacks?: Record<string, CallbackFunction | CallbackDescription>
  /** Whether what matplotlib drew comes with the result; true. */
  figures?: boolean
  /** Lines that it may execute, 0: any number. Counting makes code slower. */
  maxSteps?: number
}

export interface FileInfo {
  name: string
  type: 'file' | 'dir'
  size: number
}

/** A symbolic link itself included. */
export interface FileDetails {
  name: string
  type: 'file' | 'dir' | 'symlink' | 'other'
  size: number
  mode: number
  modifiedMs: number
  createdMs: number
  target?: string
}

export interface HistoryEntry {
  index: number
  command: string
  exitCode: number
  timestamp: number
  executionTimeMs: number
}

export interface Usage {
  fileBytes: number
  fileInodes: number
  memoryBytes: number
  processes: number
}

/** A folder or a regular file of the server's machine in the sandbox. */
export interface Mount {
  host: string
  guest: string
  readOnly?: boolean
}

export interface SandboxOptions extends CallOptions {
  /** Wall clock of a command; 30000; 0 for none. */
  timeoutMs?: number
  /** What the user's files may take; 256 MiB. */
  fsLimitBytes?: number
  packages?: string[]
  env?: Record<string, string>
  /** Rules of what it may reach; absent: nothing. */
  network?: string[] | { [name: string]: Json }
  /** Functions of yours that are programs in it. */
  commands?: HostCommands
  limits?: { memoryBytes?: number; cpus?: number; processes?: number; fileCount?: number; openFiles?: number }
}

export interface LocalOptions extends SandboxOptions {
  url?: undefined
  mounts?: Mount[]
  /** A file of `export`, or of `cloche image build`. */
  image?: string
  /** A folder of programs: NAME.wasm is the command NAME. */
  wasmDir?: string
}

export interface RemoteOptions extends SandboxOptions {
  /** Of a server: `https://box.example.com`. */
  url: string
  token?: string
  /** Attaches to a session that is there, instead of making one. */
  sessionId?: string
  /** How long a new session lives, in seconds: 60 to 28800; 3600. */
  ttl?: number
  metadata?: { [name: string]: Json }
}
