// npm's stable-diffusion-api against a real server: `run.py` starts it with the address and a token,
// in a folder where its package is installed. A line for each check: its name, a tab, and "ok" or
// what went wrong.
import library from 'stable-diffusion-api';

const { StableDiffusionApi, ControlNetUnit } = library;
const [address, token] = process.argv.slice(2);
const { hostname: host, port } = new URL(address);
const connect = () => new StableDiffusionApi({ host, port: Number(port), defaultSampler: 'Euler a', defaultStepCount: 2, timeout: 600000 });
const api = connect();
const small = { prompt: 'a lake', width: 64, height: 64, seed: 5 };

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

/** Width and height of each picture of a result. */
const sizes = async asked => Promise.all((await asked).images.map(async image => {
  const { width, height } = await image.metadata();
  return `${width}x${height}`;
}));
const are = (...expected) => answer => JSON.stringify(answer) === JSON.stringify(expected);
/** What an error's answer says, with its status; a request that goes well is none. */
const failure = asked => asked.then(() => 'it did not fail', ({ response }) => `${response.status} ${JSON.stringify(response.data)}`);
const isList = list => Array.isArray(list) && list.length > 0;

const { image: start } = await api.txt2img(small);
await check('txt2img', () => sizes(api.txt2img(small)), are('64x64'));
await check('txt2img, two', () => sizes(api.txt2img({ ...small, batch_size: 2 })), are('64x64', '64x64'));
const pixels = async image => (await image.clone().raw().toBuffer()).toString('base64');
await check('the same seed', async () => await pixels((await api.txt2img(small)).image) === await pixels(start), it => it);
await check('img2img', () => sizes(api.img2img({ ...small, init_images: [start.clone()] })), are('64x64'));
await check('img2img with a mask',
  () => sizes(api.img2img({ ...small, init_images: [start.clone()], mask_image: start.clone().threshold(128), inpainting_fill: 1 })), are('64x64'));
await check('extraSingle', () => sizes(api.extraSingle({ image: start.clone(), upscaler_1: 'Lanczos', upscaling_resize: 2 })), are('128x128'));
// It sends its pictures in `image_list`, which A1111 does not know either: that is said.
await check('extraBatch', () => failure(api.extraBatch({ images: [start.clone()], name_list: ['a'], upscaler_1: 'Lanczos' })),
  said => said.startsWith('422 ') && said.includes('imageList'));
// It encodes the picture anew, so the settings are gone.
await check('pngInfo', async () => (await api.pngInfo(start.clone())).response.status, it => it === 200);
await check('getSdModels', () => api.getSdModels(), isList);
await check('getProgress', () => api.getProgress(), it => it.progress === 0 && it.state.job_count === 0);
await check('getSamplers', () => api.getSamplers(), isList);
await check('getUpscalers', () => api.getUpscalers(), isList);
await check('getOptions', () => api.getOptions(), it => it.samples_format === 'png');
await check('getCmdFlags', () => api.getCmdFlags(), it => typeof it === 'object');
for (const name of ['getHypernetworks', 'getFaceRestorers', 'getRealesrganModels', 'getPromptStyles']) {
  await check(name, () => api[name](), Array.isArray);
}
await check('refreshCheckpoints', () => api.refreshCheckpoints(), it => it === undefined);
await check('getCurrentModel', () => api.getCurrentModel(), it => typeof it === 'string' && it.length > 0);
await check('waitForReady', () => api.waitForReady(0.1), it => it);
await check('setAuth', () => connect().setAuth('user', token).getOptions(), it => it.samples_format === 'png');
await check('ControlNet.getModels', () => api.ControlNet.getModels(), Array.isArray);
await check('ControlNet.getModules', () => api.ControlNet.getModules(), isList);
// Its `setModel` looks for a name that A1111 does not list.
await check('setOptions', async () => {
  const [{ title, model_name: name }] = await api.getSdModels();
  await api.setOptions({ sd_model_checkpoint: name });
  return title === await api.getCurrentModel();
}, it => it);
const unit = new ControlNetUnit({ input_image: start.clone(), module: 'canny', model: 'control_canny [12345678]' });
await check('a ControlNet that is not here', () => failure(api.txt2img({ ...small, controlnet_units: [unit] })),
  said => said.startsWith('404 ') && said.includes('ControlNet not found'));
await check('ControlNet.detect', () => failure(api.ControlNet.detect({ controlnet_input_images: [start.clone()], controlnet_module: 'depth' })),
  said => said.startsWith('422 ') && said.includes('controlnet_module'));
await check('interrogate', () => failure(api.interrogate(start.clone())), said => said.startsWith('404 ') && said.includes('Model not found'));
