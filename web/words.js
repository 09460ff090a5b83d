// The words of the interface in the language of the browser, or the one chosen in Settings. A text is its own key: what a table
// (words/CODE.js) lacks stays English, as do the server's own words, such as the help of samplers and errors.
const NAME = 'runnel-language';
export const languages = {en: 'English', de: 'Deutsch', es: 'Español', zh: '中文'};

export function chosenLanguage() {
  try { return localStorage.getItem(NAME) || ''; } catch { return ''; }
}

export function chooseLanguage(code) {
  try { localStorage.setItem(NAME, code); } catch { /* for this visit there is the browser's own */ }
}

const wanted = [chosenLanguage(), ...(globalThis.navigator?.languages || [])].map(code => code.toLowerCase().split('-')[0]);
export const language = wanted.find(code => code in languages) || 'en';
const table = language === 'en' ? {} : (await import(`./words/${language}.js`)).default;

export function t(text, values = {}) {
  return (Object.hasOwn(table, text) ? table[text] : text).replace(/\{(\w+)\}/g, (all, name) => (name in values ? String(values[name]) : all));
}

export const number = n => n.toLocaleString(language === 'en' ? 'en-US' : language);
