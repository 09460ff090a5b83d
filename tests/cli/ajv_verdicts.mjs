// tests/cli/ajv_verdicts.mjs - lines {"schema", "text"} from stdin; prints {"is_valid", "why"} for each: null where ajv cannot read the schema.
// The packages are in $RUNNEL_TEST_NODE; exit 77 where they are missing.
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const require = createRequire(process.env.RUNNEL_TEST_NODE + '/');
let drafts, formats, draft6;
try {
    drafts = {
        'draft-04': require('ajv-draft-04'),
        'draft-06': require('ajv'),
        'draft-07': require('ajv'),
        '2019-09': require('ajv/dist/2019'),
        '2020-12': require('ajv/dist/2020'),
    };
    formats = require('ajv-formats');
    draft6 = require('ajv/dist/refs/json-schema-draft-06.json');
} catch (e) {
    process.exit(77);
}

// Not OpenAPI's (int32, byte ..), which are annotations for JSON Schema.
const STANDARD = ['date', 'time', 'date-time', 'duration', 'uri', 'uri-reference', 'uri-template', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid', 'json-pointer', 'relative-json-pointer'];

function verdict(schema, text) {
    const named = String(schema.$schema || '');
    const draft = Object.keys(drafts).find((d) => named.includes(d)) || '2020-12';
    const Ajv = drafts[draft].default || drafts[draft];
    const ajv = new Ajv({ strict: false, logger: false, validateSchema: false, unicodeRegExp: true });
    if (draft === 'draft-06') ajv.addMetaSchema(draft6);
    (formats.default || formats)(ajv, STANDARD);
    const { $schema, ...rest } = schema;
    try {
        const isValid = ajv.validate(rest, JSON.parse(text));
        return { is_valid: isValid, why: isValid ? null : ajv.errorsText() };
    } catch (e) {
        return { is_valid: null, why: String(e.message) };
    }
}

for await (const line of createInterface({ input: process.stdin })) {
    const { schema, text } = JSON.parse(line);
    console.log(JSON.stringify(verdict(schema, text)));
}
