// A conversation as Markdown: the messages that are shown, each below a heading.
import {withFiles} from './files.js';
import {picturesOf} from './pictures.js';
import {Tree} from './tree.js';

const names = {user: 'You', tool: 'Tool'};

export function markdownOf(c, messages) {
  const parts = [`# ${c.title.replace(/\s+/g, ' ')}`];
  for (const m of new Tree(messages, c.selected || {}).path()) {
    parts.push(`## ${names[m.role] || m.model || m.settings?.model || 'Answer'}`);
    for (const f of picturesOf(m)) parts.push(`[${f.name.replace(/[[\]\\]/g, '\\$&')}]`);
    if (m.content || m.files) parts.push(withFiles(m));
    for (const call of m.calls || []) parts.push(`Calls ${call.name}:\n\n\`\`\`json\n${call.arguments}\n\`\`\``);
  }
  return `${parts.join('\n\n')}\n`;
}

export const fileName = title => `${title.replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-+|-+$/g, '').slice(0, 60) || 'conversation'}.md`;
