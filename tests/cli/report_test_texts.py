"""tests/cli/report_test_texts.py - texts that a page must show as text, for a script_model."""

PLAIN = '{{ messages[-1].content }}'
HOSTILE = ['</script>', '<script>alert(1)</script>', '</style><img src=x onerror=alert(2)>', '"\' onmouseover=alert(3) x="', '<!--', ']]>', '&lt;b&gt;&amp;', '</title>',
           '\u202eevil\u202c', '\u2066iso', '\u200fmark', '\ufeff', '\x07bell', '\x1b[31m', '\x7f', '\x85', '\x00', '\ufffe', ' é', ' 東京', '\tt', '\nn', '<0xFF>', '<0xE2>', '<0x82>', 'end']
