// What was written and not sent yet, of each conversation ('': the new one); it survives a reload.
const LIMIT = 100000;
const name = id => `runnel-draft:${id || 'new'}`;

export function draftOf(id) {
  try { return localStorage.getItem(name(id)) || ''; } catch { return ''; }
}

export function keepDraft(id, text) {
  try {
    if (text.trim()) localStorage.setItem(name(id), text.slice(0, LIMIT));
    else localStorage.removeItem(name(id));
  } catch { /* for this visit only */ }
}
