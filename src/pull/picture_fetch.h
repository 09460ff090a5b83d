// pull/picture_fetch.h - `runnel-pull --picture HOST...`: fetches one picture for the server, in a process of its own.
//
// stdin has its address, stdout gets its bytes, stderr one sentence where there are none. The server ends the process when the time is up or nobody waits for
// the picture any more.
#ifndef RN_PULL_PICTURE_FETCH_H
#define RN_PULL_PICTURE_FETCH_H

int picture_fetch(int n_hosts, char **hosts); // an exit code

#endif
