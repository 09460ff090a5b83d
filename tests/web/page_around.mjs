// tests/web/page_around.mjs - what is around the page: servers that fail, files, screens, paper; page_around_test.py starts the servers.
import {run} from './rig.mjs';
import './page_links.mjs';
import './page_files.mjs';
import './page_pictures.mjs';
import './page_looks.mjs';
import './page_design.mjs';
import './page_mcp.mjs';
import './page_hosts.mjs';
await run();
