#!/usr/bin/env python3
"""GET /slots while generations begin and end on other threads: under ASan, what it reads of one that was freed is found."""
import threading

from api import chat_model, serving
from api_native_streams import Streams
from serving import Folder, check, main, test

N_SOCKETS = 60      # of each thread: enough to fail most of the time where a job is read that was freed


@test
def slots_are_listed_while_sockets_close():
    with Folder() as folder, serving(chat_model(folder)) as s:
        wrong, is_over = [], threading.Event()

        def noted(act):
            try:
                act()
            except Exception as e:                          # noqa: BLE001 - told by the test's own thread
                wrong.append(repr(e))

        def look():
            while not is_over.is_set():
                check(s.get('/slots').status == 200, 'GET /slots')

        def come_and_go():
            for _ in range(N_SOCKETS):
                w = Streams(s)
                for i in range(4):
                    w.say('generate', id=str(i), prompt='Once', max_tokens=400, ignore_eos=True)
                w.hear()
                w.socket.client.close()

        lookers, sockets = ([threading.Thread(target=noted, args=(act,)) for _ in range(3)] for act in (look, come_and_go))
        for t in lookers + sockets:
            t.start()
        for t in sockets:
            t.join()
        is_over.set()
        for t in lookers:
            t.join()
        check(not wrong and s.child.poll() is None, wrong, s.said[-3000:])


main()
