// SPDX-License-Identifier: Apache-2.0
// What goes wrong, as errors. All of them are ClocheError.
import type { CommandResult } from './types.js'

/** A sandbox, or the server that holds it, could not do what was asked. */
export class ClocheError extends Error {
  override name = 'ClocheError'
  /** The name of the system's error, such as `ENOENT`, where there is one. */
  readonly code: string | undefined

  constructor(message: string, code?: string) {
    super(message)
    this.code = code
  }
}

/** A command that was run with `check: true` failed. */
export class CommandError extends ClocheError {
  override name = 'CommandError'
  readonly result: CommandResult

  constructor(result: CommandResult) {
    const why = result.reason || (result.stderr.trim().split('\n').pop() ?? '')
    super(`exit code ${result.exitCode}${why ? `: ${why}` : ''}`)
    this.result = result
  }
}

/** Code or a command ran over its time. */
export class TimeoutError extends ClocheError {
  override name = 'TimeoutError'
}

/** The server is not there, did not start, has ended, or the connection to it is lost. */
export class ServerError extends ClocheError {
  override name = 'ServerError'
}

/** The request was cancelled. */
export class CancelledError extends ClocheError {
  override name = 'CancelledError'
}

const sandboxCode = 1

const ended = ['SESSION_NOT_FOUND', 'SANDBOX_NOT_FOUND']

/** Whether an error of the wire says that the sandbox itself is not there any more: no file is missing then. */
function saysEnded(message: string, data: unknown): boolean {
  const reason = (data as { code?: unknown } | null | undefined)?.code
  // Servers of the first release say it in words alone.
  return typeof reason === 'string' ? ended.includes(reason) : /^ENOENT: there is no (session|sandbox) '/.test(message)
}

/** The error for one of the wire. */
export function errorOf(code: number, message: string, data?: unknown): ClocheError {
  if (code !== sandboxCode) return new ClocheError(message, code === -32602 ? 'EINVAL' : undefined)
  if (saysEnded(message, data)) return new ServerError(`the sandbox has ended: ${message.replace(/^ENOENT: /, '')}`)
  const name = /^(E[A-Z0-9]+):/.exec(message)?.[1]
  if (name === 'ECANCELED') return new CancelledError(message, name)
  if (name === 'ETIMEDOUT') return new TimeoutError(message, name)
  return new ClocheError(message, name)
}
