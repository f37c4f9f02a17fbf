#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// `npx cloche ...` is the program.
import { spawnSync } from 'node:child_process'
import { findBinary } from './local.js'

const done = spawnSync(findBinary(), process.argv.slice(2), { stdio: 'inherit' })
process.exitCode = done.status ?? 128
