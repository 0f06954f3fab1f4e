"""The command ``scripts/fuzz``."""
from __future__ import annotations
import sys, json
from .campaign import Settings, run_campaign

def main():
    a=sys.argv
    n=int(a[2])
    s=Settings(seed=int(a[1]), programs=n, workers=int(a[3]) if len(a)>3 else 1, only=a[4] if len(a)>4 and a[4]!='-' else None, skip=tuple(a[5].split(",")) if len(a)>5 else ())
    def prog(t,v):
        if v.status!='ok':
            print(v.seed, v.signature, '|', v.detail.splitlines()[0][:160] if v.detail else '', flush=True)
    t=run_campaign(s,prog)
    d=t.as_dict(); d.pop('failures')
    print(json.dumps(d,indent=1))
main()
