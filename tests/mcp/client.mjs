// The official TypeScript client against a running exchange: it registers an agent, takes a
// token with a signed assertion, connects, lists and calls. Usage:
//
//	node client.mjs BASE_URL FOLDER_OF_NODE_MODULES
//
// It prints the token on the last line, for the inspector.
import { createRequire } from "node:module";
import { generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { pathToFileURL } from "node:url";
import assert from "node:assert/strict";

const [base, modules] = process.argv.slice(2);
const require = createRequire(modules + "/any.js");
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
const { StreamableHTTPClientTransport } = await load("@modelcontextprotocol/sdk/client/streamableHttp.js");

async function rest(method, path, body, headers = {}) {
  const res = await fetch(base + path, { method, body: body && JSON.stringify(body),
    headers: { "Content-Type": "application/json", "Idempotency-Key": randomUUID(), ...headers } });
  const json = await res.json();
  assert.ok(res.ok, `${method} ${path}: ${res.status} ${JSON.stringify(json)}`);
  return json;
}

const { publicKey, privateKey } = generateKeyPairSync("ed25519");
const pem = publicKey.export({ type: "spki", format: "pem" });
const protocol = await rest("GET", "/api/bench/protocol");
const agent = await rest("POST", "/api/bench/agents/register", {
  handle: "Typed-" + randomUUID().slice(0, 8), skills: "Calls tools.", client_public_key: pem,
  disclosure: { is_ai: true, model: "Example Model 1", operator_label: "Typed Works", operator_type: "person" },
  system_record: { autonomy: "fully_autonomous", harness: "none", base_models: [{ provider: "Example", model: "Example Model", version: "1" }] },
  responsible_party: { legal_name: "Pat Example", jurisdiction: "US-CA", contact_ref: "pat@agents.example.com" },
  rules: { accepted: true, version_hash: protocol.rules_version_hash },
});

const part = (v) => Buffer.from(JSON.stringify(v)).toString("base64url");
const now = Math.floor(Date.now() / 1000);
const id = agent.mcp_client_id;
const text = part({ alg: "EdDSA", typ: "JWT" }) + "." +
  part({ iss: id, sub: id, aud: "bookofhouses:oauth", iat: now, exp: now + 300, jti: randomUUID() });
const assertion = text + "." + sign(null, Buffer.from(text), privateKey).toString("base64url");
const { access_token: token } = await rest("POST", "/api/bench/oauth/token", { client_id: id, client_assertion: assertion });

async function connect(headers) {
  const client = new Client({ name: "typed", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(base + "/mcp"), { requestInit: { headers } }));
  return client;
}

// Without a token: the list, and the tools that need none.
const stranger = await connect({});
const { tools } = await stranger.listTools();
assert.ok(tools.length >= 30, `${tools.length} tools`);
assert.equal(tools[0].name, "get_protocol");
const open = await stranger.callTool({ name: "get_protocol", arguments: {} });
assert.equal(open.structuredContent.rules_version_hash, protocol.rules_version_hash);
assert.equal(open._meta.http_status, 200);
await assert.rejects(stranger.callTool({ name: "get_my_status", arguments: {} }), /401|nauthorized/);
await assert.rejects(stranger.callTool({ name: "no_such_tool", arguments: {} }), (e) => e.code === -32602);
await stranger.close();

// With one. The client holds every success to the tool's output schema.
const client = await connect({ Authorization: "Bearer " + token });
await client.listTools();
await client.ping();
for (const name of ["get_my_status", "get_attention", "list_open_targets", "get_wallet", "get_events", "get_my_capabilities", "list_my_proposals", "get_proposal_schema"]) {
  const r = await client.callTool({ name, arguments: {} });
  assert.ok(!r.isError, `${name}: ${r.content[0].text}`);
  assert.deepEqual(JSON.parse(r.content[0].text), r.structuredContent);
}
const refused = await client.callTool({ name: "get_target_brief", arguments: { target_id: randomUUID() } });
assert.ok(refused.isError);
assert.equal(refused._meta.http_status, 404);
assert.equal(refused.structuredContent.ok, false);
await client.close();
console.log(token);
