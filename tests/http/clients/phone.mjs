// The page at `/` in a real browser, as large as a phone: `run.py` starts this with the address, a
// token and a folder for screenshots, where puppeteer-core is installed. The browser is Chromium or
// Chrome of this computer, or the one that CHROMIUM names. A line for each check: its name, a tab, and
// "ok" or what went wrong.
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import puppeteer from 'puppeteer-core';

const [url, token, folder] = process.argv.slice(2);
const PHONE = { width: 390, height: 844, deviceScaleFactor: 2, isMobile: true, hasTouch: true };
// A finger's: CSS pixels, as Apple and WCAG 2.5.5 have it.
const MIN_TARGET = 44;
const LIMIT_MS = 300_000;
const BROWSERS = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

function browserPath() {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  for (const name of BROWSERS) {
    try { return execFileSync('which', [name], { encoding: 'utf8' }).trim(); } catch { /* The next one. */ }
  }
  throw new Error('There is no Chromium here: install it, or name one by CHROMIUM.');
}

mkdirSync(folder, { recursive: true });
// Without its sandbox, which containers do not have: it opens this page alone.
const browser = await puppeteer.launch({ executablePath: browserPath(), args: ['--no-sandbox'] });
const page = await browser.newPage();
page.setDefaultTimeout(LIMIT_MS);
const complaints = [];
page.on('console', message => { if (message.type() === 'error') complaints.push(message.text()); });
page.on('pageerror', error => complaints.push(error.message));
page.on('requestfailed', request => {
  const { errorText } = request.failure();
  // A stream that has told the end of its job is not read further.
  if (errorText !== 'net::ERR_ABORTED') complaints.push(`${request.url()}: ${errorText}`);
});

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

const screenshot = name => page.screenshot({ path: join(folder, `${name}.png`) });
const said = () => page.$eval('#said', it => it.textContent);
const tap = selector => page.locator(selector).click();
const until = (isSo, ...given) => page.waitForFunction(isSo, { polling: 50 }, ...given);
const session = await page.createCDPSession();
/** What the browser keeps for the server. */
const cookies = async () => (await session.send('Network.getCookies', { urls: [url] })).cookies;
/** What the server says to the person whose token it is. */
const atelier = async route => (await fetch(`${url}${route}`, { headers: { Authorization: `Bearer ${token}` } })).json();
const lastJob = async () => (await atelier('/sdcpp/v1/jobs')).at(-1);
const { length: before } = (await atelier('/atelier/v1/pictures')).pictures;
/** So many pictures more than before in the strip, all of them there. */
const strip = more => until(count => {
  const images = [...document.querySelectorAll('#strip img')];
  return images.length === count && images.every(it => it.naturalWidth > 0);
}, before + more);

/** What a finger cannot hit, and what is wider than the screen. */
const misfits = () => page.evaluate(min => {
  const isShown = it => it.checkVisibility() && it.getBoundingClientRect().width > 1;
  const small = [...document.querySelectorAll('button, select, textarea, .file, .shapes span')]
    .filter(it => isShown(it) && it.getBoundingClientRect().height < min).map(it => it.id || it.textContent);
  const { scrollWidth, clientWidth } = document.documentElement;
  return scrollWidth > clientWidth ? [...small, `${scrollWidth} of ${clientWidth} pixels wide`] : small;
}, MIN_TARGET);

async function checks() {
  await page.setViewport(PHONE);
  await check('pairing by its link', async () => {
    await page.goto(`${url}/#t=${token}`);
    await until(() => !document.getElementById('room').hidden);
    const readable = await page.evaluate(() => location.hash + document.cookie + JSON.stringify({ ...localStorage }));
    return { readable, kept: (await cookies()).map(({ httpOnly, sameSite }) => ({ httpOnly, sameSite })) };
  }, ({ readable, kept }) => !readable.includes(token) && !readable.includes('#') && !readable.includes('atelier-')
    && JSON.stringify(kept) === '[{"httpOnly":true,"sameSite":"Strict"}]');
  await check('fits a phone', misfits, found => found.length === 0);
  for (const scheme of ['light', 'dark']) {
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
    await screenshot(`start-${scheme}`);
  }
  await check('generate with a preview', async () => {
    await page.locator('#prompt').fill('a lake at dawn');
    await tap('.shapes label:nth-child(3) span');
    await tap('#go');
    await until(() => !document.getElementById('preview').hidden && document.getElementById('preview').naturalWidth > 0);
    await screenshot('generating');
    await strip(1);
    return said();
  }, words => words === 'Ready.');
  await check('the shape that was chosen', async () => (await lastJob()).begin, ({ width, height }) => width < height);
  await check('a picture, large', async () => {
    await tap('#strip button');
    await until(() => document.getElementById('shown').naturalWidth > 0);
    await screenshot('large');
    return misfits();
  }, found => found.length === 0);
  await check('star', async () => {
    await tap('#star');
    await until(() => document.getElementById('star').getAttribute('aria-pressed') === 'true');
    return until(() => document.querySelector('#strip li:first-child .star')).then(() => true);
  });
  await check('upscale', async () => {
    const small = await page.$eval('#shown', it => it.naturalWidth);
    await tap('#upscale');
    await strip(2);
    await tap('#strip button');
    await until(() => document.getElementById('shown').naturalWidth > 0);
    return [small, await page.$eval('#shown', it => it.naturalWidth)];
  }, ([small, large]) => large === 2 * small);
  await check('the same prompt again', async () => {
    await tap('#again');
    return page.$eval('#prompt', it => it.value);
  }, text => text === 'a lake at dawn');
  await check('cancel', async () => {
    await tap('#go');
    await tap('#stop');
    await until(() => document.getElementById('stop').hidden);
    return [await said(), (await lastJob()).status];
  }, ([words, state]) => words === 'Cancelled.' && state === 'cancelled');
  await check('all of it is there after a reload', async () => {
    await page.reload();
    await strip(2);
    await screenshot('pictures');
    return page.$$eval('#earlier option', all => all.map(it => it.value));
  }, prompts => prompts.includes('a lake at dawn'));
  await check('start from a photo', async () => {
    await (await page.$('#photo')).uploadFile(join(folder, 'start-light.png'));
    await until(() => !document.getElementById('no-photo').hidden);
    await page.locator('#prompt').fill('a lake');
    await tap('#go');
    await strip(3);
    return said();
    // Its shape is another one.
  }, words => words.includes('start picture'));
  await check('the home screen takes it', async () => (await session.send('Page.getInstallabilityErrors')).installabilityErrors,
    errors => errors.length === 0);
  await check('no complaint of the browser', () => complaints, found => found.length === 0);
  await check('a token that an earlier page kept', async () => {
    await session.send('Network.clearBrowserCookies');
    await page.evaluate(it => localStorage.setItem('atelier', JSON.stringify({ token: it, prompts: ['a lake'] })), token);
    await page.reload();
    await strip(3);
    return [(await cookies()).length, await page.evaluate(() => localStorage.getItem('atelier'))];
  }, ([count, kept]) => count === 1 && kept === '{"prompts":["a lake"]}');
  let keepsCookies = true;
  const connect = async text => {
    await page.locator('#token').fill(text);
    await tap('#entry button');
  };
  const refused = word => until(it => document.getElementById('refused').textContent.includes(it), word).then(() => true);
  await check('a token that is wrong is asked for again', async () => {
    await session.send('Network.clearBrowserCookies');
    await page.setRequestInterception(true);
    // As another computer is answered that was not paired.
    page.on('request', async request => {
      const { pathname } = new URL(request.url());
      if (pathname === '/atelier/v1/pairing' && !keepsCookies) return request.respond({ contentType: 'application/json', body: '{}' });
      const isAsked = pathname.startsWith('/sdcpp/') && !(await cookies()).length;
      return isAsked ? request.respond({ status: 401, contentType: 'application/json', body: '{}' }) : request.continue();
    });
    await page.reload();
    await connect('wrong');
    await refused('not known');
    return screenshot('token').then(() => true);
  });
  await check('a browser that keeps no cookies is told so, and its link works once it does', async () => {
    keepsCookies = false;
    await connect(token);
    await refused('keeps no cookies');
    keepsCookies = true;
    // By the link, in the tab that is open.
    await page.evaluate(it => { location.hash = `t=${it}`; }, token);
    await strip(3);
    return page.evaluate(() => location.hash === '');
  });
}

try {
  await checks();
} finally {
  await browser.close();
}
