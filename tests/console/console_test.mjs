// SPDX-License-Identifier: Apache-2.0
// The console in a real browser: logs in, types, sees a figure, uploads and downloads, forks; what
// a guest made does nothing. console_test.mjs CHROMIUM URL TOKEN SHOTS
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { chromium } from 'playwright-core'

const [executablePath, url, token, shots] = process.argv.slice(2)
mkdirSync(shots, { recursive: true })
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, acceptDownloads: true })
const page = await context.newPage()
const problems = []
page.on('pageerror', (error) => problems.push(error.message))
page.on('console', (message) => {
  if (message.type() === 'error' && !/401/.test(message.text())) problems.push(message.text())
})
page.on('dialog', (dialog) => void dialog.accept())
const shot = (name) => page.screenshot({ path: join(shots, `${name}.png`) })
const asks = async (body) => {
  const answer = await fetch(`${url}${body.path}`, {
    method: body.method ?? 'POST', headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: body.json === undefined ? undefined : JSON.stringify(body.json),
  })
  assert.ok(answer.ok, `${body.path}: ${answer.status}`)
  return answer.json()
}
const looks = [['light', 1280, 800], ['dark', 1280, 800], ['light', 320, 640], ['dark', 320, 640], ['light', 1920, 1080]]
const everyLook = async (name) => {
  for (const [colorScheme, width, height] of looks) {
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize({ width, height })
    await page.waitForFunction(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true)))))
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    assert.ok(wide <= 0, `${name} is ${wide} px too wide at ${width}`)
    await shot(`${name}-${colorScheme}-${width}`)
  }
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize({ width: 1280, height: 800 })
}

// --- log in -------------------------------------------------------------------------------------
const answer = await page.goto(`${url}/console`)
const policy = answer.headers()['content-security-policy']
assert.match(policy, /default-src 'none'; script-src 'self'/)
await page.getByLabel('Token').fill('wrong')
await page.getByRole('button', { name: 'Log in' }).click()
await page.getByText('This token is not known here.').waitFor()
await everyLook('login')
await page.getByLabel('Token').fill(token)
await page.keyboard.press('Enter')
await page.getByRole('heading', { name: /Sessions/ }).waitFor()
await page.getByText('No sessions yet').waitFor()
await everyLook('empty')
assert.equal(await page.evaluate(() => document.cookie), '')
assert.deepEqual(await page.evaluate((t) => [localStorage, sessionStorage].map((one) => JSON.stringify(one)).filter((text) => text.includes(t)), token), [])

// --- a session: terminals -----------------------------------------------------------------------
await page.keyboard.press('/')
await page.keyboard.type('nothing')
await page.keyboard.press('Escape')
assert.equal(await page.locator('#search').inputValue(), '')
await page.keyboard.press('n')
await page.getByRole('tab', { name: 'Terminals' }).waitFor()
const session = /session\/([^/]+)/.exec(page.url())[1]
const screen = page.locator('.xterm-rows')
await screen.getByText('$').first().waitFor()
await page.locator('.xterm-helper-textarea').focus()
await page.keyboard.type('echo h""i; stty size\n')
await screen.getByText(/^hi$/).first().waitFor()
const sizes = async () => (await screen.innerText()).match(/^\d+ \d+$/gm)
await page.waitForFunction(() => /\n\d+ \d+\n/.test(document.querySelector('.xterm-rows').innerText))
const wide = (await sizes()).pop()
await page.setViewportSize({ width: 800, height: 600 })
await page.waitForFunction(() => new Promise((done) => setTimeout(() => done(true), 300)))
await page.keyboard.type('stty size\n')
await page.waitForFunction((before) => {
  const found = document.querySelector('.xterm-rows').innerText.match(/^\d+ \d+$/gm)
  return found && found.pop() !== before
}, wide)
await page.setViewportSize({ width: 1280, height: 800 })
await page.keyboard.type('MARK=still\n')
await page.reload()
await screen.getByText('MARK=still').first().waitFor()
await page.locator('.xterm-helper-textarea').focus()
await page.keyboard.type('echo $MARK-here\n')
await screen.getByText('still-here').first().waitFor()
await everyLook('terminal')

// --- files, hostile names among them ------------------------------------------------------------
const hostile = '<img src=x onerror="document.title=1">.txt'
await asks({ path: `/sessions/${session}/commands`, json: { command: `cd /workspace; mkdir -p data; printf 'a,b\\n1,"<b>2</b>"\\n' > table.csv; echo text > '${hostile}'; printf '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><script>document.title=2</script><circle cx="20" cy="20" r="18" fill="teal"/></svg>' > evil.svg; head -c 300 /dev/urandom > bytes.bin` } })
await page.getByRole('tab', { name: 'Files' }).click()
await page.getByText(hostile).first().waitFor()
await page.getByText(hostile).first().click()
await page.locator('.preview .text').getByText('text').waitFor()
await page.locator('.entry').getByText('table.csv').click()
await page.locator('td').getByText('<b>2</b>').waitFor()
await page.locator('.entry').getByText('evil.svg').click()
await page.locator('.picture img').waitFor()
await page.locator('.entry').getByText('bytes.bin').click()
await page.locator('.hex').waitFor()
const data = Buffer.from(Array.from({ length: 100_000 }, (_, at) => (at * 31) % 256))
writeFileSync(join(shots, 'up.bin'), data)
await page.locator('input[type=file]').setInputFiles(join(shots, 'up.bin'))
await page.locator('.entry').getByText('up.bin').waitFor()
const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download up.bin' }).click()])
assert.deepEqual(readFileSync(await download.path()), data)
await page.locator('.entry').getByText('table.csv').click()
await page.getByRole('button', { name: 'Edit' }).click()
await page.locator('.editor').fill('x,y\n3,4\n')
await page.keyboard.press('Control+s')
await page.locator('td').getByText('4', { exact: true }).waitFor()
await page.getByRole('button', { name: 'Edit' }).click()
await asks({ path: `/sessions/${session}/commands`, json: { command: 'echo other > /workspace/table.csv' } })
await page.locator('.editor').fill('mine')
await page.keyboard.press('Control+s')
await page.getByText('has changed meanwhile').waitFor()
await page.getByRole('button', { name: 'Discard' }).click()
await everyLook('files')

// --- Python: a figure, an error, a hostile repr --------------------------------------------------
await asks({ path: `/sessions/${session}/commands`, json: { command: 'pip install matplotlib', timeout: 300 } })
await page.getByRole('tab', { name: 'Python' }).click()
const code = page.getByLabel('Python code')
await code.first().fill('print("hello")\n"<b>bold</b>"')
await page.keyboard.press('Shift+Enter')
await page.locator('.outputs .result').getByText("'<b>bold</b>'").waitFor()
await code.nth(1).fill('import matplotlib.pyplot as plt\nplt.plot([1, 3, 2]); None')
await page.keyboard.press('Control+Enter')
await page.locator('.outputs img').waitFor({ timeout: 240_000 })
assert.ok(await page.locator('.outputs img').evaluate((image) => image.decode().then(() => image.naturalWidth)) > 100)
await page.getByRole('button', { name: 'Add a cell below' }).last().click({ force: true })
await code.nth(2).fill('1/0')
await page.keyboard.press('Control+Enter')
await page.locator('.outputs .error').getByText('ZeroDivisionError').waitFor()
await code.nth(2).fill('while True: pass')
await page.keyboard.press('Control+Enter')
await page.getByRole('button', { name: 'Interrupt' }).click()
await page.locator('.outputs .error').getByText(/Cancelled/).waitFor()
// Of two cells that are on their way both are interrupted, also after a look at another view.
await code.nth(2).fill('while True: pass')
await page.keyboard.press('Control+Enter')
await code.nth(0).fill('7 * 6')
await page.keyboard.press('Control+Enter')
await page.getByRole('tab', { name: 'Events' }).click()
await page.getByRole('tab', { name: 'Python' }).click()
await page.locator('.outputs img').waitFor()
await page.getByRole('button', { name: 'Interrupt' }).click()
await page.locator('.cell.running').first().waitFor({ state: 'detached' })
await code.nth(0).focus()
await page.keyboard.press('Control+Enter')
await page.locator('.outputs .result').getByText('42').waitFor()
await everyLook('python')

// --- events, connect, the server, forks ----------------------------------------------------------
await page.getByRole('tab', { name: 'Events' }).click()
await page.locator('.events code').getByText('other > /workspace/table.csv').first().waitFor()
await everyLook('events')
await page.locator('.events button.link').filter({ hasText: 'other > /workspace/table.csv' }).first().click()
await page.locator('.chip.chosen').getByText('Terminal 2').waitFor()
await screen.getByText('ended with 0').waitFor()
await page.locator('.chip').first().getByRole('button').first().click()
await page.locator('.chip').nth(1).getByRole('button').first().click()
await screen.getByText('$').first().waitFor() // what has ended is a new shell then
await page.getByRole('tab', { name: 'Events' }).click()
await page.getByRole('tab', { name: 'Connect' }).click()
await page.getByText('Sandbox.create').waitFor()
assert.match(await page.locator('.connect').innerText(), /Bearer \$TOKEN[^]*token=TOKEN[^]*, token,/)
await everyLook('connect')
await page.getByRole('button', { name: 'Fork' }).click()
await page.getByText(`fork of ${session.slice(0, 8)}`).waitFor()
const twin = /session\/([^/]+)/.exec(page.url())[1]
await page.goto(`${url}/console#/`)
await page.locator(`.row[data-session="${twin}"]`).waitFor()
await everyLook('list')
await page.getByRole('button', { name: 'Tree' }).click()
await page.locator(`[data-session="${session}"] [data-session="${twin}"]`).waitFor()
await everyLook('tree')
await page.getByRole('button', { name: 'List' }).click()
await page.locator(`.row[data-session="${twin}"]`).focus()
await page.keyboard.press('Delete')
await page.getByRole('button', { name: 'Undo' }).click()
await page.locator(`.row[data-session="${twin}"]`).waitFor()
await page.getByRole('link', { name: 'Server' }).click()
await page.locator('polyline').first().waitFor()
await everyLook('server')

// --- many sessions, one connection ----------------------------------------------------------------
const many = []
for (let i = 0; i < 300; i++) many.push((await asks({ path: '/sessions', json: {} })).sessionId)
await page.goto(`${url}/console#/`)
await page.locator(`.row[data-session="${many[299]}"]`).waitFor()
for (const id of many) {
  await page.evaluate((hash) => { location.hash = hash }, `#/session/${id}/files`)
  await page.getByText('This folder is empty').waitFor()
  await page.evaluate(() => { location.hash = '#/server' })
  await page.getByText('This folder is empty').waitFor({ state: 'detached' })
}

// --- nothing of the guest's has run, nothing was refused ------------------------------------------
assert.equal(await page.title(), 'Cloche')
assert.deepEqual(problems, [])
await page.getByRole('button', { name: 'Log out' }).click()
await page.getByLabel('Token').waitFor()
await browser.close()
console.log('ok')
