// serve/serve_main.c - the program runnel-serve, which `runnel serve` executes: a program of its own, so that
// the other commands need not load the HTTP and TLS libraries.
#include "app/process.h"
#include "serve/serve.h"

int main(int argc, char **argv) {
    process_begin();
    return process_end(cmd_serve(argc > 0 ? argc - 1 : 0, argv + (argc > 0)));
}
