// A conversation's settings and their conversion to a request.
import {withFiles} from './files.js';
import {contentOf, joined} from './pictures.js';

export const DEFAULTS = {model: '', saved: '', system: '', preset: '', strategy: '', values: {}, seed: '', stop: [], max_tokens: '', truncate: 'old', tools: '', variables: '', schema: '', lora: {},
  alternatives: 5, mcp: []};

// Completes settings, also those from a file or an older version of the page: values of a wrong type are ignored.
export function withDefaults(s) {
  const out = {...DEFAULTS};
  for (const name of Object.keys(DEFAULTS)) if (typeof s?.[name] === typeof DEFAULTS[name] && s[name] !== null) out[name] = s[name];
  out.values = Object.fromEntries(Object.entries(out.values).filter(([, v]) => Number.isFinite(v)));
  out.lora = Object.fromEntries(Object.entries(out.lora).filter(([, v]) => Number.isFinite(v) && Math.abs(v) <= 1000));
  for (const name of ['stop', 'mcp']) out[name] = Array.isArray(out[name]) ? out[name].filter(v => typeof v === 'string') : [];
  return out;
}

// What a strategy of the compare view stands for: members of a request.
export const membersOf = (settings, strategies = []) => strategies.find(s => s.name === settings.strategy)?.members || {};

// Returns the value in effect for a sampling field: the user's, else the strategy's, else the preset's, else the default.
export function effective(settings, field, presets, strategies) {
  const own = {...membersOf(settings, strategies), ...settings.values};
  if (field.name in own) return own[field.name];
  return presets.find(p => p.name === settings.preset)?.values[field.name] ?? field.default;
}

function parseJson(text, what, kind, isRight) {
  if (!text.trim()) return null;
  let value;
  try { value = JSON.parse(text); } catch (e) { throw new Error(`${what}: not JSON: ${e.message}`); }
  if (!isRight(value)) throw new Error(`${what}: ${kind} is due`);
  return value;
}
export const readTools = text => parseJson(text, 'Tools', 'an array', Array.isArray);
export const readVariables = text => parseJson(text, 'Template variables', 'an object', v => v && typeof v === 'object' && !Array.isArray(v));

export const readSchema = text => parseJson(text, 'Schema', 'an object, true or false', v => typeof v === 'boolean' || (v && typeof v === 'object' && !Array.isArray(v)));

export function requestOf(settings, strategies) {
  const body = {...membersOf(settings, strategies), ...settings.values};
  if (settings.model) body.model = settings.model;
  // A list names all adapters that are used: an empty one, none.
  if (Object.keys(settings.lora).length) body.lora = Object.entries(settings.lora).filter(([, scale]) => scale).map(([name, scale]) => ({name, scale}));
  if (settings.preset) body.preset = settings.preset;
  if (settings.seed !== '') body.seed = Number(settings.seed);
  if (settings.stop.length) body.stop = settings.stop;
  if (settings.max_tokens !== '') body.max_tokens = Number(settings.max_tokens);
  if (settings.truncate !== 'none') body.truncate = settings.truncate;
  const tools = readTools(settings.tools), variables = readVariables(settings.variables), schema = readSchema(settings.schema);
  if (tools) body.tools = tools;
  if (schema !== null) body.json_schema = schema;
  if (variables) body.chat_template_kwargs = variables;
  if (settings.alternatives >= 0) Object.assign(body, {logprobs: settings.alternatives, with_pieces: true});
  return {...body, token_times: true};
}

// Answers that failed or say nothing are no part of the conversation.
const isSaid = m => m.role !== 'assistant' || (m.state !== 'failed' && (m.content.trim() || m.calls?.length > 0));

// Converts a conversation to the messages of a request. Two of the user in a row, where the answer
// between them is none, are one: many templates want turns to alternate.
export function messagesOf(system, path) {
  const list = system.trim() ? [{role: 'system', content: system}] : [];
  for (const m of path.filter(isSaid)) {
    if (m.role === 'tool') list.push({role: 'tool', content: m.content, tool_call_id: m.callId, name: m.name});
    else if (m.role === 'assistant') list.push(assistant(m));
    else if (list.at(-1)?.role === 'user') list.at(-1).content = joined(list.at(-1).content, contentOf(m, withFiles(m)));
    else list.push({role: 'user', content: contentOf(m, withFiles(m))});
  }
  return list;
}

function assistant(m) {
  const out = {role: 'assistant', content: m.content};
  if (m.reasoning) out.reasoning_content = m.reasoning;
  if (m.calls?.length) out.tool_calls = m.calls.map(c => ({id: c.id, type: 'function', function: {name: c.name, arguments: c.arguments}}));
  return out;
}

// The prompt for a model without a chat template: all messages joined to one text.
export const plainText = (system, path) => [system.trim() ? `${system}\n\n` : '', ...path.filter(isSaid).map(withFiles)].join('');
