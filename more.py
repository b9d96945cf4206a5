import sys, logging
import nbtf as tf, numpy as np
c=tf.constant
def both(name, make, *calls):
    try:
        f=make(); a=[np.asarray(tf.nest.flatten(f(*x))[0]).tolist() if f(*x) is not None else None for x in calls] if False else []
        f=make(); g=tf.function(make(), autograph=False)
        ra=[]; rb=[]
        for x in calls:
            tf.random.set_seed(1)
            ra.append([np.asarray(v.numpy()).tolist() for v in tf.nest.flatten(f(*x)) if v is not None])
        for x in calls:
            tf.random.set_seed(1)
            rb.append([np.asarray(v.numpy()).tolist() for v in tf.nest.flatten(g(*x)) if v is not None])
        n=g.experimental_get_tracing_count()
        t=list(g._traces.concrete.values())[0].is_traced
        print('OK ' if ra==rb else 'DIFF', name, n, 'traced' if t else 'UNTRACED', '' if ra==rb else (ra,rb))
    except Exception as e:
        print('ERR', name, type(e).__name__, str(e)[:200])
x=c(np.random.RandomState(0).randn(4,6,3).astype('f')); x2=c(np.random.RandomState(1).randn(4,6,3).astype('f'))
img=c(np.random.RandomState(0).rand(2,8,8,3).astype('f')); img2=img*0.5
L=tf.keras.layers
def layer(make):
    def build():
        tf.keras.utils.set_random_seed(0); l=make(); l(x if l._wantx else img) if False else None
        return l
    return build
for nm,mk,arg in [('Dense',lambda:L.Dense(4),(x,x2)),('LSTM',lambda:L.LSTM(4),(x,x2)),('GRU',lambda:L.GRU(4,return_sequences=True),(x,x2)),('SimpleRNN',lambda:L.SimpleRNN(3),(x,x2)),('Bi',lambda:L.Bidirectional(L.LSTM(3)),(x,x2)),('Conv2D',lambda:L.Conv2D(4,3),(img,img2)),('Conv1D',lambda:L.Conv1D(4,3),(x,x2)),('BN',lambda:L.BatchNormalization(),(x,x2)),('LN',lambda:L.LayerNormalization(),(x,x2)),('MaxPool',lambda:L.MaxPooling2D(),(img,img2)),('AvgPool',lambda:L.AveragePooling2D(),(img,img2)),('GAP',lambda:L.GlobalAveragePooling2D(),(img,img2)),('Flatten',lambda:L.Flatten(),(img,img2)),('Dropout',lambda:L.Dropout(.5),(x,x2)),('Embedding',lambda:L.Embedding(10,4),(c([[1,2],[3,4]]),c([[5,6],[7,8]]))),('MHA',lambda:(lambda m: (lambda z: m(z,z)))(L.MultiHeadAttention(2,4)),(x,x2)),('ConvT',lambda:L.Conv2DTranspose(2,3),(img,img2)),('Sep',lambda:L.SeparableConv2D(2,3),(img,img2)),('TD',lambda:L.TimeDistributed(L.Dense(2)),(x,x2)),('Up',lambda:L.UpSampling2D(),(img,img2)),('Softmax',lambda:L.Softmax(),(x,x2)),('PReLU',lambda:L.PReLU(),(x,x2))]:
    def make(mk=mk):
        tf.keras.utils.set_random_seed(0); return mk()
    both(nm, make, (arg[0],),(arg[1],),(arg[0],))
for nm,mk in [('Seq',lambda: tf.keras.Sequential([L.Dense(4,activation='relu'),L.Dense(2)])),('Func',lambda: (lambda i: tf.keras.Model(i, L.Dense(2)(L.Dense(3)(i))))(tf.keras.Input((6,3))))]:
    def make(mk=mk):
        tf.keras.utils.set_random_seed(0); return mk()
    both(nm, make, (x,),(x2,),(x,))
for o in ['SGD','Adam','RMSprop','Adagrad','Adadelta','Adamax','Nadam','Ftrl','AdamW','Lion']:
    def make(o=o):
        v=tf.Variable([1.,2.]); opt=getattr(tf.keras.optimizers,o)(0.1)
        def step(x):
            with tf.GradientTape() as t: l=tf.reduce_sum((v*x-1.)**2)
            opt.apply_gradients([(t.gradient(l,v),v)]); return l, v
        return step
    both(o, make, (c(1.),),(c(2.),),(c(1.),))
def make():
    v=tf.Variable([1.,2.]); opt=tf.keras.optimizers.SGD(tf.keras.optimizers.schedules.ExponentialDecay(.1,1,.5))
    def step(x):
        with tf.GradientTape() as t: l=tf.reduce_sum((v*x-1.)**2)
        opt.apply_gradients([(t.gradient(l,v),v)]); return l, v
    return step
both('schedule', make, (c(1.),),(c(2.),),(c(1.),))
for m in ['Mean','Accuracy','SparseCategoricalAccuracy','AUC','Precision','Recall','MeanSquaredError','CategoricalAccuracy','BinaryAccuracy','TopKCategoricalAccuracy','MeanIoU']:
    def make(m=m):
        k=getattr(tf.keras.metrics,m)(*( [2] if m=='MeanIoU' else []))
        def step(a,b):
            if m=='Mean': k.update_state(b)
            else: k.update_state(a,b)
            return k.result()
        return step
    a=c([0,1,1]) if m in('SparseCategoricalAccuracy','MeanIoU') else c([0.,1.,1.]); b=c([[.9,.1],[.2,.8],[.6,.4]]) if m=='SparseCategoricalAccuracy' else (c([0,1,0]) if m=='MeanIoU' else c([.1,.8,.4]))
    if m in('CategoricalAccuracy','TopKCategoricalAccuracy'): a=c([[1.,0.],[0.,1.]]); b=c([[.9,.1],[.7,.3]])
    both(m, make, (a,b),(a,b))
for l in ['MeanSquaredError','BinaryCrossentropy','Huber','MeanAbsoluteError','Hinge','KLDivergence','CosineSimilarity','Poisson','LogCosh']:
    both(l, lambda l=l: getattr(tf.keras.losses,l)(), (c([[0.,1.]]),c([[.2,.7]])),(c([[1.,1.]]),c([[.3,.6]])))
def gradf():
    w=tf.Variable(np.ones((3,2),'f'))
    def f(x):
        with tf.GradientTape(persistent=True) as t:
            t.watch(x); y=tf.nn.softmax(tf.matmul(x,w)); z=tf.reduce_sum(y[:, :1]**2)
        return t.gradient(z,x), t.gradient(z,w), t.jacobian(y,w)
    return f
both('persistent+jacobian', gradf, (c([[1.,2.,3.]]),),(c([[3.,2.,3.]]),))
def second():
    def f(x):
        with tf.GradientTape() as t2:
            t2.watch(x)
            with tf.GradientTape() as t: t.watch(x); y=tf.sin(x)*x**3
            d=t.gradient(y,x)
        return d, t2.gradient(d,x)
    return f
both('second', second, (c([1.,2.]),),(c([.3,2.]),))
def emb():
    e=tf.Variable(np.arange(12.).reshape(6,2).astype('f'))
    def f(i):
        with tf.GradientTape() as t: y=tf.reduce_sum(tf.nn.embedding_lookup(e,i)**2)
        g=t.gradient(y,e); e.scatter_sub(g) if hasattr(g,'indices') else None
        return y, e
    return f
both('embedding grad', emb, (c([1,2]),),(c([3,3]),))
def ta():
    def f(x):
        t=tf.TensorArray(tf.float32,3)
        for i in range(3): t=t.write(i,x*i)
        return t.stack()
    return f
both('TensorArray', ta, (c([1.]),),(c([2.]),))
both('map_fn', lambda: (lambda x: tf.map_fn(lambda e:e*2.,x)), (c([1.,2.]),),(c([3.,2.]),))
both('where1', lambda: (lambda x: tf.where(x>1.)), (c([1.,2.]),),(c([3.,2.]),))
both('boolean_mask', lambda: (lambda x: tf.boolean_mask(x,x>1.)), (c([1.,2.]),),(c([3.,2.]),))
both('unique', lambda: (lambda x: tf.unique(x)[0]), (c([1.,2.]),),(c([3.,3.]),))
both('slice var', lambda: (lambda v: (lambda x: (v[0].assign(x), v)[1]))(tf.Variable([1.,2.])), (c(3.),),(c(4.),))
both('cond tensors', lambda: (lambda x: tf.where(x>1.,x,-x)), (c([1.,2.]),),(c([3.,3.]),))
both('ragged', lambda: (lambda x: tf.ragged.constant([[1.,2.],[3.]])*x), (c(2.),),(c(3.),))
both('one_hot', lambda: (lambda x: tf.one_hot(x,3)), (c([1]),),(c([2]),))
both('einsum', lambda: (lambda x: tf.einsum('ij,jk->ik',x,x)), (tf.ones([2,2]),),(tf.eye(2),))
both('clip', lambda: (lambda x: tf.clip_by_global_norm([x,x],1.)[0]), (tf.ones([2,2]),),(tf.eye(2),))
both('custom_gradient', lambda: (lambda f: (lambda x: f(x)))(tf.custom_gradient(lambda x: (x*x, lambda d: d*7.))), (c(2.),),(c(3.),))
both('strings', lambda: (lambda x: tf.strings.join([x,'b'])), (c('a'),),(c('c'),))
