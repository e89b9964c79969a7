// SillyTavern's own server between us and a real server: `run.py` starts this with the address, a
// token and a folder where npm installed the package. A line for each check: its name, a tab, and
// "ok" or what went wrong.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const [url, token] = process.argv.slice(2);
const INSTALLED = join(import.meta.dirname, 'node_modules', 'sillytavern');
// The first start packs its page with webpack.
const START_MS = 300_000;
const STOP_MS = 60_000;
const POLL_MS = 50;

const home = mkdtempSync(join(tmpdir(), 'atelier-sillytavern-'));
const port = await freePort();
const tavern = `http://127.0.0.1:${port}`;
const server = spawn(process.execPath, [
  join(INSTALLED, 'server.js'), '--port', String(port), '--listen', 'false', '--disableCsrf', 'true', '--browserLaunchEnabled', 'false',
  '--dataRoot', join(home, 'data'), '--configPath', join(home, 'config.yaml'),
], { cwd: home, stdio: ['ignore', 'pipe', 'pipe'] });
let log = '';
for (const stream of [server.stdout, server.stderr]) stream.on('data', bytes => { log = (log + bytes).slice(-2000); });
const ended = new Promise(resolve => server.on('exit', resolve));

function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer().on('error', reject);
    probe.listen(0, '127.0.0.1', () => { const { port } = probe.address(); probe.close(() => resolve(port)); });
  });
}

/** Asks again and again until it is true. */
async function until(what, isSo, withinMs) {
  for (const deadline = Date.now() + withinMs; Date.now() < deadline;) {
    if (await isSo()) return;
    await new Promise(resolve => setTimeout(resolve, POLL_MS));
  }
  throw new Error(`${what} did not come within ${withinMs / 1000} s`);
}

/** Asks an endpoint of its image extension, as its page does. */
async function ask(route, fields = {}, options = {}) {
  const body = JSON.stringify({ url, auth: '', ...fields });
  const headers = { 'Content-Type': 'application/json' };
  const answer = await fetch(`${tavern}/api/sd/${route}`, { method: 'POST', headers, body, ...options });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${answer.status} ${text.slice(0, 100)}`);
  try { return JSON.parse(text); } catch { return text; }
}

/** Asks Atelier itself. */
const atelier = async (route, options) => (await fetch(`${url}${route}`, options)).json();

async function check(name, run, holds = () => true) {
  let said;
  try {
    const answer = await run();
    said = holds(answer) ? 'ok' : `answered ${JSON.stringify(answer).slice(0, 200)}`;
  } catch (error) {
    said = `${error.name}: ${String(error.message).slice(0, 200)}`;
  }
  console.log(`${name}\t${said}`);
}

/** What its page sends for a picture. */
function wish(fields = {}) {
  return {
    prompt: 'a lake', negative_prompt: 'fog', sampler_name: 'Euler a', scheduler: 'karras', steps: 2, cfg_scale: 7, width: 128, height: 64,
    seed: 5, restore_faces: false, enable_hr: false, hr_upscaler: 'Latent', hr_scale: 2, hr_additional_modules: [],
    denoising_strength: 0.7, hr_second_pass_steps: 0,
    override_settings: { CLIP_stop_at_last_layers: 1, sd_vae: 'Automatic', forge_additional_modules: [] },
    override_settings_restore_afterwards: true, clip_skip: 1, save_images: true, send_images: true, do_not_save_grid: false,
    do_not_save_samples: false, ...fields,
  };
}

/** Width and height of the only picture of an answer, "128x64", where it is a PNG. */
function size({ images }) {
  const bytes = Buffer.from(images[0], 'base64');
  const isPng = bytes.subarray(1, 4).toString() === 'PNG' && bytes.subarray(12, 16).toString() === 'IHDR';
  return isPng && images.length === 1 ? `${bytes.readUInt32BE(16)}x${bytes.readUInt32BE(20)}` : `${images.length} pictures`;
}

/** Closes the connection of a picture as soon as its first step is done, as its page does when a person stops it. */
async function stopped() {
  const page = new AbortController();
  const asked = ask('generate', wish({ steps: 150, width: 512, height: 512 }), { signal: page.signal })
    .then(() => 'it ended', error => error.name);
  await until('a step', async () => (await atelier('/sdapi/v1/progress')).state.sampling_step > 0, STOP_MS);
  const { id } = (await atelier('/sdcpp/v1/jobs')).find(job => job.status === 'generating');
  page.abort();
  await until('the end', async () => (await atelier('/sdapi/v1/progress')).state.job_count === 0, STOP_MS);
  return [await asked, (await atelier(`/sdcpp/v1/jobs/${id}`)).status];
}

async function checks() {
  const models = await ask('models').catch(() => []);
  await check('ping', () => ask('ping'));
  await check('ping with a token', () => ask('ping', { auth: `user:${token}` }));
  // On this computer everybody is let in.
  await check('ping with a login that is no token', () => ask('ping', { auth: 'user:pass' }));
  await check('samplers', () => ask('samplers'), names => names.includes('Euler a') && names.includes('DPM++ 2M'));
  await check('schedulers', () => ask('schedulers'), names => names.includes('karras'));
  await check('models', () => ask('models'), list => list.length > 0 && list.every(model => model.value && model.text));
  await check('upscalers', () => ask('upscalers'), names => names[0] === 'None' && names.includes('Latent') && names.includes('Lanczos'));
  await check('VAEs', () => ask('vaes'), Array.isArray);
  await check('set-model', () => ask('set-model', { model: models[0].value }));
  await check('get-model', () => ask('get-model'), name => name === models[0].value);
  await check('generate', async () => size(await ask('generate', wish())), it => it === '128x64');
  await check('generate with a token', async () => {
    const its = async () => (await atelier('/sdcpp/v1/jobs', { headers: { Authorization: `Bearer ${token}` } })).length;
    const before = await its();
    return [size(await ask('generate', wish({ auth: `user:${token}` }))), await its() - before];
  }, ([made, jobs]) => made === '128x64' && jobs === 1);
  const twice = async () => [(await ask('generate', wish())).images[0], (await ask('generate', wish())).images[0]];
  await check('the same seed', twice, ([one, other]) => one === other);
  await check('generate twice as large', async () => size(await ask('generate', wish({ enable_hr: true, hr_second_pass_steps: 1 }))),
    it => it === '256x128');
  await check('no password in the answer', async () => JSON.stringify(await ask('generate', wish({ auth: `user:${token}` }))),
    text => !text.includes(token));
  await check('stop while it generates', stopped, ([asked, state]) => asked === 'AbortError' && state === 'cancelled');
  // Its server interrupts and hangs up: what comes second must not hit this one.
  await check('generate after the stop', async () => size(await ask('generate', wish())), it => it === '128x64');
  await check('stable-diffusion.cpp: ping', () => ask('sdcpp/ping'));
  await check('stable-diffusion.cpp: models', () => ask('sdcpp/models'), ({ data }) => data.length > 0);
  await check('stable-diffusion.cpp: generate', async () => {
    const model = (await ask('sdcpp/models')).data[0].id;
    return size(await ask('sdcpp/generate', wish({ model, sampler_name: 'euler_a', scheduler: 'discrete', batch_size: 1 })));
  }, it => it === '128x64');
}

try {
  const gone = ended.then(code => { throw new Error(`SillyTavern ended with ${code}: ${log}`); });
  await Promise.race([gone, until('SillyTavern', () => fetch(`${tavern}/version`).then(it => it.ok, () => false), START_MS)]);
  gone.catch(() => {});
  await checks();
} finally {
  server.kill();
  await ended;
  rmSync(home, { recursive: true, force: true });
}
