// What ChatGPT and Open WebUI export, as a file of runnel's own format, which store.js checks like any other.
const isObject = v => Boolean(v) && typeof v === 'object' && !Array.isArray(v);
const seconds = v => (Number.isFinite(v) ? Math.round(v < 1e11 ? v * 1000 : v) : Date.now());
const titleOf = v => (typeof v === 'string' && v.trim() ? v : 'Untitled');

// Takes a forest of {id, parent, role, text, at, model}; nodes without text are left out, and what follows them goes to the nearest above.
// An answer in several parts is one message.
function conversation(id, title, created, updated, nodes, current) {
  const byId = new Map(nodes.map(n => [n.id, n])), kept = new Map(), messages = [];
  const place = start => {       // the kept message for a node; walks up without recursion, since chains are long
    const chain = [];
    for (let at = start; at && byId.has(at) && !kept.has(at) && chain.length <= byId.size; at = byId.get(at).parent) chain.push(at);
    for (const at of chain.reverse()) {
      if (kept.has(at)) continue;        // a circle
      const n = byId.get(at), above = kept.get(n.parent) || null;
      if (!n.text || !['user', 'assistant'].includes(n.role)) kept.set(at, above);
      else if (n.role === 'assistant' && above?.role === 'assistant') {
        above.content += `\n\n${n.text}`;
        kept.set(at, above);
      } else {
        const m = {id: at, parent: above?.id || '', role: n.role, content: n.text, created: n.at, state: 'done', ...(n.model ? {model: n.model} : {})};
        messages.push(m);
        kept.set(at, m);
      }
    }
    return kept.get(start) || null;
  };
  nodes.forEach(n => place(n.id));
  messages.forEach((m, i) => { m.created = Math.max(m.created, (messages[i - 1]?.created || 0) + 1); });
  const selected = {};
  for (let m = place(current), n = 0; m && n <= messages.length; m = m.parent ? messages.find(other => other.id === m.parent) : null, n++) selected[m.parent] = m.id;
  return {id, title, created, updated, settings: {}, selected, messages, data: []};
}

const partText = p => (typeof p === 'string' ? p : isObject(p) && typeof p.text === 'string' ? p.text : isObject(p) ? '[not text]' : '');
function chatGptText({content, metadata}) {
  if (!isObject(content) || metadata?.is_visually_hidden_from_conversation) return '';
  if (content.content_type === 'text' || content.content_type === 'multimodal_text') return (Array.isArray(content.parts) ? content.parts : []).map(partText).filter(Boolean).join('\n\n').trim();
  return '';
}

const isChatGpt = c => isObject(c) && isObject(c.mapping);
function fromChatGpt(c, i) {
  const nodes = Object.entries(c.mapping).filter(([, n]) => isObject(n)).map(([id, n]) => {
    const m = isObject(n.message) ? n.message : {}, model = m.metadata?.model_slug;
    return {id, parent: typeof n.parent === 'string' ? n.parent : '', role: m.author?.role, text: chatGptText(m), at: seconds(m.create_time ?? c.create_time), model: typeof model === 'string' ? model : ''};
  });
  return conversation(`chatgpt-${i}`, titleOf(c.title), seconds(c.create_time), seconds(c.update_time), nodes, c.current_node);
}

const isOpenWebUi = c => isObject(c) && isObject(c.chat) && (isObject(c.chat.history) || Array.isArray(c.chat.messages));
function fromOpenWebUi(c, i) {
  const {chat} = c, tree = isObject(chat.history?.messages) ? Object.values(chat.history.messages) : chat.messages || [];
  const nodes = tree.filter(m => isObject(m) && typeof m.id === 'string').map(m => ({id: m.id, parent: typeof m.parentId === 'string' ? m.parentId : '', role: m.role,
    text: typeof m.content === 'string' ? m.content.replace(/<details type="reasoning"[\s\S]*?<\/details>/g, '').trim() : '', at: seconds(m.timestamp), model: typeof m.model === 'string' ? m.model : ''}));
  return conversation(`openwebui-${i}`, titleOf(chat.title ?? c.title), seconds(c.created_at ?? chat.timestamp), seconds(c.updated_at ?? c.created_at), nodes, chat.history?.currentId ?? nodes.at(-1)?.id);
}

// Returns a file of runnel's format, or what it was given.
export function recognised(file) {
  const list = Array.isArray(file) ? file : isObject(file) ? [file] : [];
  const [is, read] = list.some(isChatGpt) ? [isChatGpt, fromChatGpt] : list.some(isOpenWebUi) ? [isOpenWebUi, fromOpenWebUi] : [null, null];
  if (!is) return file;
  return {format: 'runnel-conversations', version: 1, conversations: list.filter(is).map(read).filter(c => c.messages.length)};
}
