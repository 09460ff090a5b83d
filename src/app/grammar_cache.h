// app/grammar_cache.h - compiled grammars, kept for requests that want the same form: what one has computed serves the next.
//
// Ownership: grammar_cache_open() / grammar_cache_close(), when everything was given back. Grammars belong to the cache; whoever got one
// gives it back, and may use it until then, whatever the cache drops.
// Threads:   any; internally locked. Grammars are compiled without the lock.
#ifndef RN_APP_GRAMMAR_CACHE_H
#define RN_APP_GRAMMAR_CACHE_H

#include <runnel/runnel.h>

typedef struct grammar_cache grammar_cache;
typedef struct kept_grammar kept_grammar;

// What is kept while nobody uses it; beyond that the least recently used ones are dropped.
enum { GRAMMAR_CACHE_GRAMMARS = 64, GRAMMAR_CACHE_MIB = 64 };
// mib: what they may take. NULL: out of memory (app/memory.h).
grammar_cache *grammar_cache_open(int32_t mib);
void grammar_cache_close(grammar_cache *c);

// A grammar of this source, compiled unless it is there. salt: grammars are shared only where it is the same.
// Errors: as rn_grammar_compile(); RN_E_NOMEM. *kept is NULL then.
rn_status grammar_cache_get(grammar_cache *c, const rn_model *model, uint64_t salt, const rn_grammar_source *source,
                            kept_grammar **kept, rn_error *err);
const rn_grammar *kept_grammar_of(const kept_grammar *kept);        // NULL: NULL
void grammar_cache_give_back(grammar_cache *c, kept_grammar *kept); // NULL is fine

#endif
