// serve/serve.h - `runnel serve`: the one function that the program calls.
#ifndef RN_SERVE_SERVE_H
#define RN_SERVE_SERVE_H

// args: the arguments after the command's name. Serves until SIGTERM or SIGINT; returns the exit code (app/say.h).
int cmd_serve(int n_args, char **args);

#endif
