// How much of the model's context the conversation takes, beside the message box: the tokens of the last prompt and its answer.
import {fill, h} from './dom.js';
import {number, t} from './words.js';

export function contextOf(path, model) {
  const size = model?.meta?.n_ctx || 0, last = path.filter(m => m.role === 'assistant' && m.usage?.prompt_tokens > 0).at(-1);
  const used = last ? last.usage.prompt_tokens + (last.usage.completion_tokens || 0) : 0;
  return size && used ? {used: Math.min(used, size), size, share: Math.min(1, used / size)} : null;
}

export function showContext(el, context) {
  el.hidden = !context;
  if (!context) return;
  const words = t('{used} of {size} tokens', {used: number(context.used), size: number(context.size)});
  el.title = t('{tokens} of the context are taken by this conversation', {tokens: words});
  fill(el, h('meter', {min: '0', max: '1', high: '0.85', value: String(context.share), 'aria-label': t('Context')}), h('span', words));
}
