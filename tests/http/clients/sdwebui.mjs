// npm's node-sd-webui against a real server: `run.py` starts it with the address, in a folder where
// its package is installed. A line for each check: its name, a tab, and "ok" or what went wrong.
import sdwebui from 'node-sd-webui';

const client = (sdwebui.default ?? sdwebui)({ apiUrl: process.argv[2] });
const small = { prompt: 'a lake', steps: 2, width: 64, height: 64, seed: 5, samplingMethod: 'Euler a' };

async function check(name, run, holds) {
  let said;
  try {
    const answer = await run();
    said = holds(answer) ? 'ok' : `answered ${JSON.stringify(answer).slice(0, 200)}`;
  } catch (error) {
    said = `${error.name}: ${String(error.message).slice(0, 200)}`;
  }
  console.log(`${name}\t${said}`);
}

/** What an error says; a request that goes well is none. */
const failure = promise => promise.then(() => 'it did not fail', error => error.message);
const isPng = text => Buffer.from(text, 'base64').subarray(1, 4).toString() === 'PNG';

const { images: [start] } = await client.txt2img(small);
await check('txt2img', () => client.txt2img(small), ({ images }) => images.length === 1 && isPng(images[0]) && images[0] === start);
await check('img2img', () => client.img2img({ ...small, imageData: [start] }), ({ images }) => images.length === 1 && isPng(images[0]));
// What stands behind the sampler it takes by its place, as before A1111 wrote the scheduler there.
await check('png-info', () => client.pngInfo({ imageData: start }), ({ prompt, steps }) => prompt === 'a lake' && steps === 2);
// It asks at /controlnet/img2img.
const unit = { inputImageData: start, model: 'control_canny [12345678]', preprocessor: 'canny' };
await check('a ControlNet that is not here',
  () => failure(client.img2img({ ...small, imageData: [start], extensions: { controlNet: [unit] } })), said => said === 'Not Found');
