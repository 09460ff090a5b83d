// A picture from the camera: a dialog shows what it sees, and takes it.
import {dialog, h} from './dom.js';
import {t} from './words.js';

// Browsers lend it to pages of https and of this machine alone.
export const hasCamera = () => Boolean(navigator.mediaDevices?.getUserMedia);

// What the video shows now, as a file.
function frameOf(video) {
  const canvas = h('canvas');
  [canvas.width, canvas.height] = [video.videoWidth, video.videoHeight];
  canvas.getContext('2d').drawImage(video, 0, 0);
  return new Promise(resolve => canvas.toBlob(blob => resolve(new File([blob], 'camera.jpg', {type: 'image/jpeg'})), 'image/jpeg', 0.9));
}

// Resolves to a File, or to undefined if none was taken; the camera is off then. Rejects where the browser does not give it.
export async function takePicture() {
  let stream;
  try {
    stream = await navigator.mediaDevices.getUserMedia({video: {facingMode: 'environment', width: {ideal: 1536}}});
  } catch (e) {
    throw new Error(t('The camera cannot be used: {why}', {why: e.message || e.name}));
  }
  try {
    return await dialog(t('Take a picture'), close => {
      const take = h('button.primary', {type: 'button', disabled: true, onclick: async () => close(await frameOf(video))}, t('Take it'));
      const video = h('video.camera', {autoplay: true, muted: true, playsInline: true, 'aria-label': t('What the camera sees'), onplaying: () => { take.disabled = false; take.focus(); }});
      video.srcObject = stream;
      return h('div', video, take);
    });
  } finally {
    stream.getTracks().forEach(track => track.stop());
  }
}
