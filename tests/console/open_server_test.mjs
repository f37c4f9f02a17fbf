// SPDX-License-Identifier: Apache-2.0
// The console of a server without tokens: what it gives to be pasted has none. open_server_test.mjs CHROMIUM URL
import assert from 'node:assert/strict'
import { chromium } from 'playwright-core'

const [executablePath, url] = process.argv.slice(2)
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
const page = await browser.newPage()
await page.goto(`${url}/console`)
await page.getByRole('button', { name: 'New session' }).click()
await page.getByRole('tab', { name: 'Connect' }).click()
await page.getByText('Sandbox.create').waitFor()
const text = await page.locator('.connect').innerText()
assert.match(text, /curl -H 'Content-Type[^]*sessionId: '/)
assert.doesNotMatch(text, /token/i)
await browser.close()
