// Pictures beside a message: read as data: URLs, made smaller where they are large, and shown.
import {h} from './dom.js';
import {t} from './words.js';

// As it is up to so many bytes, in a format that servers read; else drawn anew with at most so many pixels a side. A request has all pictures of its conversation.
const LIMITS = {bytes: 1 << 20, side: 1536, quality: 0.9};
const KEPT = ['image/png', 'image/jpeg', 'image/webp', 'image/gif', 'image/bmp'];

export const isPicture = file => /^image\//.test(file.type);

const asUrl = blob => new Promise((resolve, reject) => {
  const reader = new FileReader();
  reader.onload = () => resolve(reader.result);
  reader.onerror = () => reject(reader.error);
  reader.readAsDataURL(blob);
});

// Resolves to {name, url, width, height}. Rejects where the browser cannot read it.
export async function readPicture(file) {
  const name = (file.name || 'pasted.png').slice(-120);
  let bitmap;
  try { bitmap = await createImageBitmap(file); } catch { throw new Error(t('{name}: not a picture that this browser can read', {name})); }
  const {width, height} = bitmap;
  if (file.size <= LIMITS.bytes && KEPT.includes(file.type)) return {name, url: await asUrl(file), width, height};
  const scale = Math.min(1, LIMITS.side / Math.max(width, height)), canvas = document.createElement('canvas');
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  const on = canvas.getContext('2d');
  on.fillStyle = '#fff';        // as the server shows what is transparent
  on.fillRect(0, 0, canvas.width, canvas.height);
  on.imageSmoothingQuality = 'high';
  on.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  return {name, url: canvas.toDataURL('image/jpeg', LIMITS.quality), width: canvas.width, height: canvas.height};
}

// Only pictures that are in the page itself: a file that is imported could name others.
export const isPictureUrl = url => typeof url === 'string' && /^data:image\/(?:png|jpeg|webp|gif|bmp);base64,[A-Za-z0-9+/=]+$/.test(url);

export const pictureSize = ({width, height}) => `${width} × ${height}`;
export const thumbnail = f => h('img.thumb', {src: f.url, alt: ''});

// Small in its message; whole when it is pressed.
export function pictureNode(f) {
  const el = h('button.picture', {type: 'button', 'aria-pressed': 'false', 'aria-label': t('{name}: show it whole', {name: f.name}), title: `${f.name}, ${pictureSize(f)}`}, h('img', {src: f.url, alt: f.name}));
  el.addEventListener('click', () => el.setAttribute('aria-pressed', String(el.getAttribute('aria-pressed') !== 'true')));
  return el;
}

export const picturesOf = m => (m.files || []).filter(f => f.url);

// A message's content: its text, or in parts with its pictures before it.
export function contentOf(m, text) {
  const pictures = picturesOf(m);
  return pictures.length ? [...pictures.map(f => ({type: 'image_url', image_url: {url: f.url}})), ...(text ? [{type: 'text', text}] : [])] : text;
}

const asParts = content => (typeof content === 'string' ? [{type: 'text', text: content}] : content);
// Two contents as one.
export const joined = (a, b) => (typeof a === 'string' && typeof b === 'string' ? `${a}\n\n${b}` : [...asParts(a), ...asParts(b)]);
