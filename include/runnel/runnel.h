// runnel/runnel.h - the whole public interface: streams of text from language model files.
//
// Objects are opaque; structs that can grow begin with `size_t struct_size` (api.h, docs/abi.md).
// Every call that can fail returns rn_status and takes a caller-owned rn_error * last (NULL
// allowed), which receives a text `WHAT: WHY`. The library never prints, never exits, installs no
// signal handler and has no global state: several engines can be open in one process.
#ifndef RUNNEL_RUNNEL_H
#define RUNNEL_RUNNEL_H

#include <runnel/api.h>
#include <runnel/chat.h>
#include <runnel/embed.h>
#include <runnel/engine.h>
#include <runnel/grammar.h>
#include <runnel/infill.h>
#include <runnel/measure.h>
#include <runnel/model.h>
#include <runnel/picture.h>
#include <runnel/request.h>
#include <runnel/saved.h>
#include <runnel/status.h>
#include <runnel/strategy.h>
#include <runnel/stream.h>
#include <runnel/tools.h>
#include <runnel/watermark.h>

#endif
