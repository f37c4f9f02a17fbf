// SPDX-License-Identifier: Apache-2.0
// Run by test_clients with npm's SDK: node_client.mjs FOLDER TARGET [TOKEN]; TARGET is the program, or the address of a server.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [folder, target, token] = process.argv.slice(2);
const require = createRequire(folder + "/package.json");
const load = (name) => import(pathToFileURL(require.resolve("@modelcontextprotocol/sdk/" + name)).href);
const { Client } = await load("client/index.js");
const { ElicitRequestSchema, ResourceUpdatedNotificationSchema } = await load("types.js");

async function transport() {
  if (!target.startsWith("http")) {
    const { StdioClientTransport } = await load("client/stdio.js");
    return new StdioClientTransport({ command: target, args: ["mcp"], env: process.env });
  }
  const { StreamableHTTPClientTransport } = await load("client/streamableHttp.js");
  const headers = token ? { Authorization: "Bearer " + token } : {};
  return new StreamableHTTPClientTransport(new URL(target), { requestInit: { headers } });
}

const client = new Client({ name: "test", version: "1" }, { capabilities: { elicitation: {} } });
const asked = [], updated = [];
client.setRequestHandler(ElicitRequestSchema, async (request) => {
  asked.push(request.params.message);
  return { action: "accept", content: { allow: true } };
});
client.setNotificationHandler(ResourceUpdatedNotificationSchema, async (message) => { updated.push(message.params.uri); });
await client.connect(await transport());

const call = (name, args, ...more) => client.callTool({ name, arguments: args }, undefined, ...more);
const { tools } = await client.listTools();  // from here on what is structured is checked
assert.equal(tools.length, 13);
assert.match(client.getInstructions(), /sandbox/);

let done = await call("bash", { command: "echo hi; exit 3" });
assert.equal(done.content[0].text, "hi\n[exit code 3]");
assert.equal(done.structuredContent.exit_code, 3);
await call("python", { code: "x = 41" });
assert.equal((await call("python", { code: "x + 1" })).structuredContent.result, "42");
done = await call("python", { code: "import matplotlib.pyplot as plt; plt.plot([1]); plt.show()" });
assert.equal(done.content[1].mimeType, "image/png");
done = await call("network", { action: "allow", rules: ["example.com:443"] });
assert.deepEqual(done.structuredContent.rules, ["example.com:443"]);
assert.equal(asked.length, 1);
assert.equal((await call("read_file", { path: "nothing" })).isError, true);

const heard = [];
await call("bash", { command: "for i in 1 2 3; do echo $i; sleep 0.5; done" }, { onprogress: (p) => heard.push(p) });
assert.ok(heard.length > 0 && /^[123]$/.test(heard.at(-1).message), JSON.stringify(heard));

const uri = "sandbox://default/workspace/a.txt";
await call("write_file", { path: "a.txt", content: "one\n" });
assert.equal((await client.readResource({ uri })).contents[0].text, "one\n");
await client.subscribeResource({ uri });
const arrived = new Promise((resolve) => client.setNotificationHandler(ResourceUpdatedNotificationSchema, async (m) => resolve(m.params.uri)));
await call("bash", { command: "echo two >>a.txt" });
assert.equal(await arrived, uri);

const giveUp = new AbortController();
const given = call("bash", { command: "touch begun; sleep 1000; touch ended" }, { signal: giveUp.signal });
setTimeout(() => giveUp.abort(), 1000);
await assert.rejects(given);
done = await call("bash", { command: "ls begun ended 2>/dev/null; ps | grep -c 'sleep 100[0]'" });
assert.equal(done.structuredContent.stdout, "begun\n0\n");
await client.close();
console.log("done");
