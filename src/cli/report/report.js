'use strict';
// Shows a token's alternatives beside it, and moves between tokens with the arrow keys. Without it they are shown in the page's corner.
document.documentElement.classList.add('moved');
let open = null;
function hide() {
  if (open) open.classList.remove('open');
  open = null;
}
function show(token) {
  if (token === open) return;
  hide();
  const alt = token.querySelector('.alt');
  if (!alt) return;
  open = token;
  token.classList.add('open');
  const at = token.getClientRects()[0], {width, height} = alt.getBoundingClientRect(), below = token.getBoundingClientRect().bottom;
  alt.style.bottom = 'auto';
  alt.style.left = `${Math.max(8, Math.min(at.left, document.documentElement.clientWidth - width - 8))}px`;
  alt.style.top = `${below + height + 8 < innerHeight ? below + 4 : Math.max(8, at.top - height - 4)}px`;
}
const token = e => (e.target.closest ? e.target.closest('.t') : null);
addEventListener('pointerover', e => { const t = token(e); if (t) show(t); else if (!open?.matches(':focus')) hide(); });
addEventListener('focusin', e => { const t = token(e); if (t) show(t); else hide(); });
addEventListener('focusout', hide);
addEventListener('scroll', hide, true);
addEventListener('keydown', e => {
  if (e.key === 'Escape') hide();
  const t = token(e);
  if (!t || e.ctrlKey || e.altKey || e.metaKey) return;
  const all = [...t.parentElement.querySelectorAll('.t')], at = all.indexOf(t);
  const to = all[{ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1}[e.key]];
  if (!to) return;
  e.preventDefault();
  t.tabIndex = -1;
  to.tabIndex = 0;
  to.focus();
});
