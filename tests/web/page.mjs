// tests/web/page.mjs - the page's features, one after the other; page_test.py starts the servers.
import {run} from './rig.mjs';
import './page_chat.mjs';
import './page_markdown.mjs';
import './page_conversations.mjs';
import './page_settings.mjs';
import './page_views.mjs';
import './page_hosts.mjs';
await run();
