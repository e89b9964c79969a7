// Vercel's AI SDK against a real server: `run.py` starts it with the address, in a folder where its
// packages are installed. A line for each check: its name, a tab, and "ok" or what went wrong.
import { generateImage, experimental_generateImage } from 'ai';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';

const generate = generateImage ?? experimental_generateImage;
const provider = createOpenAICompatible({ name: 'atelier', baseURL: `${process.argv[2]}/v1`, apiKey: 'none' });
const { data } = await (await fetch(`${process.argv[2]}/v1/models`)).json();
const model = provider.imageModel(data[0].id);

async function check(name, options, holds) {
  let said;
  try {
    const { images } = await generate({ model, maxRetries: 0, ...options });
    said = holds(images) ? 'ok' : `answered ${images.length} pictures`;
  } catch (error) {
    said = `${error.name}: ${String(error.message).slice(0, 200)}`;
  }
  console.log(`${name}\t${said}`);
}

const isPng = image => Buffer.from(image.base64, 'base64').subarray(1, 4).toString() === 'PNG';
const small = { size: '64x64', seed: 3, providerOptions: { atelier: { steps: 2 } } };
await check('generate', { prompt: 'a lake', ...small }, images => images.length === 1 && isPng(images[0]));
await check('generate two', { prompt: 'a lake', n: 2, ...small }, images => images.length === 2);
const start = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==', 'base64');
await check('edit', { prompt: { text: 'red', images: [start] }, ...small }, images => images.length === 1);
// What programs use that know OpenAI alone: its provider for OpenAI itself.
const asOpenAi = createOpenAI({ baseURL: `${process.argv[2]}/v1`, apiKey: 'none' }).imageModel(data[0].id);
const plain = { model: asOpenAi, size: '64x64' };
await check('generate as from OpenAI', { prompt: 'a lake', ...plain }, images => images.length === 1 && isPng(images[0]));
await check('edit as from OpenAI', { prompt: { text: 'red', images: [start] }, ...plain }, images => images.length === 1);
